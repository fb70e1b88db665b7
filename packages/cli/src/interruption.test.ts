import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { aborted, keepHangups, listenForSignals } from "./interruption.js";

let source: EventEmitter;
let statuses: number[];

beforeEach(() => {
  vi.useFakeTimers();
  source = new EventEmitter();
  statuses = [];
});
afterEach(() => vi.useRealTimers());

const listen = (overdueStatus = 0, delayMs = 0) =>
  listenForSignals(
    source,
    (status) => statuses.push(status),
    () => ({ overdueStatus, delayMs }),
  );

describe("listenForSignals", () => {
  it.each(["SIGINT", "SIGTERM"])("aborts its signal at %s", async (name) => {
    const signal = listen();
    expect(signal.aborted).toBe(false);
    source.emit(name);
    expect(signal.aborted).toBe(true);
    await aborted(signal);
    expect(statuses).toEqual([]);
  });

  it("counts a signal that npm passes on as the same one", () => {
    listen();
    source.emit("SIGINT");
    vi.advanceTimersByTime(50);
    source.emit("SIGINT");
    expect(statuses).toEqual([]);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ])("exits at once at a second signal %s with status %i, as after a kill", (name, status) => {
    listen();
    source.emit("SIGINT");
    vi.advanceTimersByTime(1_000);
    source.emit(name);
    expect(statuses).toEqual([status]);
  });

  it.each([0, 1])("exits after 4 s if the shutdown takes longer, with the command's status %i", (status) => {
    listen(status);
    source.emit("SIGTERM");
    vi.advanceTimersByTime(4_000);
    expect(statuses).toEqual([status]);
  });

  it("lets a service go on for the delay of its shutdown first", () => {
    listen(0, 5_000);
    source.emit("SIGTERM");
    vi.advanceTimersByTime(8_999);
    expect(statuses).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(statuses).toEqual([0]);
  });
});

describe("keepHangups", () => {
  it("brings a SIGHUP that came early to whoever listens, once, and later ones as they come", () => {
    const { release, listen: onHangup } = keepHangups(source);
    source.emit("SIGHUP");
    source.emit("SIGHUP");
    release();
    let reloads = 0;
    expect(source.listenerCount("SIGHUP")).toBe(1);
    onHangup(() => reloads++);
    vi.runAllTimers();
    expect(reloads).toBe(1);
    source.emit("SIGHUP");
    expect(reloads).toBe(2);
  });

  it("lets SIGHUP end a command that does not listen", () => {
    keepHangups(source).release();
    vi.runAllTimers();
    expect(source.listenerCount("SIGHUP")).toBe(0);
  });
});
