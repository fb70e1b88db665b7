import type { RequestOptions } from "node:http";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { performance } from "node:perf_hooks";
import { currentOwner } from "./owner.js";
import { currentRealm, EPOCH } from "./realm.js";
import { real } from "./realTime.js";
import { virtualTimers } from "./virtualTimers.js";

// An import gives a module's names as they are; only the module itself, as `require` returns it, can be changed.
const require = createRequire(import.meta.url);

type Functions = Record<string, (...args: never[]) => unknown>;

/**
 * Replaces what a process knows of time, chance, the network and threads. While no world runs, all of it works as before. The
 * changes hold for the whole process and for good: a simulation has a process of its own.
 */
export function installGlobals(): void {
  replaceTimers();
  replaceClocks();
  replaceRandomness();
  replaceNetwork();
  countReading();
  syncBuiltinESMExports();
}

function replaceTimers(): void {
  const timers = virtualTimers(currentRealm);
  Object.assign(globalThis, timers);
  Object.assign(require("node:timers"), timers);
  const { setTimeout, clearTimeout, setImmediate } = timers;
  const promises = require("node:timers/promises");
  promises.setTimeout = (ms?: number, value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = setTimeout(() => resolve(value), ms);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  promises.setImmediate = (value?: unknown) => new Promise((resolve) => setImmediate(resolve, value));
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    setTimeout(
      () => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
      ms,
    );
    return controller.signal;
  };
}

function replaceClocks(): void {
  const now = () => {
    const realm = currentRealm();
    if (realm === undefined) return real.Date.now();
    return EPOCH + Math.floor(realm.clock.now) + (currentOwner()?.clockStepMs ?? 0);
  };
  globalThis.Date = new Proxy(real.Date, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new real.Date(now()).toString(),
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
  });
  Object.defineProperties(performance, {
    now: { value: () => currentRealm()?.clock.now ?? real.now(), configurable: true, writable: true },
    // The service measures how busy its event loop is, and takes less work at a time if it is: here it never is.
    eventLoopUtilization: {
      value: () => ({ idle: 1, active: 0, utilization: 0 }),
      configurable: true,
      writable: true,
    },
  });
}

function replaceRandomness(): void {
  const crypto = require("node:crypto");
  const own = { ...crypto } as Functions;
  const { getRandomValues } = globalThis.crypto;
  const random = Math.random;
  const fill = <T extends NodeJS.ArrayBufferView>(view: T): T => {
    currentRealm()?.entropy.fill(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    return view;
  };
  const isReal = () => currentRealm() === undefined;
  const replace = (name: string, virtual: (...args: never[]) => unknown) => {
    const original = own[name] as (...args: unknown[]) => unknown;
    crypto[name] = (...args: unknown[]) =>
      isReal() ? original(...args) : (virtual as (...all: unknown[]) => unknown)(...args);
  };
  replace("randomBytes", (size: number, callback?: (error: null, bytes: Buffer) => void) => {
    const bytes = fill(Buffer.alloc(size));
    return callback === undefined ? bytes : callback(null, bytes);
  });
  replace("randomFillSync", fill);
  replace("randomUUID", () => {
    const bytes = fill(Buffer.alloc(16));
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  });
  replace("randomInt", (least: number, most?: number) => {
    const entropy = currentRealm()?.entropy;
    return most === undefined ? entropy?.integer(least) : least + (entropy?.integer(most - least) ?? 0);
  });
  Object.defineProperty(globalThis.crypto, "getRandomValues", {
    value: (view: Uint8Array<ArrayBuffer>) =>
      isReal() ? getRandomValues.call(globalThis.crypto, view) : fill(view),
    configurable: true,
  });
  Math.random = () => currentRealm()?.entropy.next() ?? random();
}

function replaceNetwork(): void {
  const http = require("node:http");
  const { request } = http;
  http.request = (...args: [RequestOptions]) => {
    const realm = currentRealm();
    return realm === undefined ? request(...args) : realm.request(args[0]);
  };
  // Without threads, the service signs the same bytes itself.
  require("node:worker_threads").Worker = class {
    constructor() {
      throw new Error("there are no threads in virtual time");
    }
  };
}

/** Virtual time waits while a file is read. */
function countReading(): void {
  const files = require("node:fs/promises");
  for (const name of ["readdir", "readFile"]) {
    const original = files[name];
    files[name] = (...args: unknown[]) => {
      const reading = original(...args);
      return currentRealm()?.activity.count(reading) ?? reading;
    };
  }
}
