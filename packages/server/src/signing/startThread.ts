import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { pack, type SignAnswer, type SignRequest, wrappersOf } from "./messages.js";
import type { SignedWrapper, WrapOptions, WrapperRequest } from "./wrappers.js";

/** A thread that signs. */
export interface SigningThread {
  /** Rejects if the thread ends before it has answered, or has ended. */
  sign(toWrap: readonly WrapperRequest[], how: WrapOptions): Promise<SignedWrapper[]>;
  end(): Promise<void>;
}

/** It keeps little for long; the default is half a process's. */
const MEMORY = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 64 };

interface Waiting {
  readonly resolve: (signed: SignedWrapper[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Resolves when the thread can be asked; rejects if it does not start.
 * @param onEnd hears that it has ended after it had started: by itself, or by `end`.
 * @param program for tests: what runs in the thread.
 */
export async function startSigningThread(
  onEnd: () => void = () => {},
  // By the package's name for it: where the sources run, as in the tests, it is the built one.
  program = createRequire(import.meta.url).resolve("#signing-thread"),
): Promise<SigningThread> {
  // Neither options nor an environment: what an operator loads into the process is not meant for this thread.
  const worker = new Worker(program, { execArgv: [], env: {}, resourceLimits: MEMORY });
  const waiting = new Map<number, Waiting>();
  let failure = new Error("the signing thread has ended");
  let ended = false;
  let asked = 0;
  // It holds no process open.
  worker.unref();
  worker.on("error", (error) => {
    failure = new Error(`the signing thread failed: ${error.message}`, { cause: error });
  });
  worker.on("messageerror", () => void worker.terminate());
  worker.once("exit", () => {
    ended = true;
    for (const { reject } of waiting.values()) reject(failure);
    waiting.clear();
  });
  await new Promise<void>((resolve, reject) => {
    worker.once("message", () => resolve());
    worker.once("exit", () => reject(failure));
  });
  // It can have ended between its word and this line.
  if (ended) throw failure;
  worker.once("exit", onEnd);
  worker.on("message", (answer: SignAnswer) => {
    const request = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ("error" in answer) request?.reject(new Error(answer.error));
    else request?.resolve(wrappersOf(answer));
  });
  return {
    sign(toWrap, how) {
      if (ended) return Promise.reject(failure);
      const inners = pack(toWrap.map(({ innerRaw }) => innerRaw));
      const nonces = toWrap.map(({ waiverNonce }) => waiverNonce);
      const request: SignRequest = { id: asked++, ...how, inners, nonces };
      return new Promise((resolve, reject) => {
        waiting.set(request.id, { resolve, reject });
        worker.postMessage(request, [inners.bytes.buffer]);
      });
    },
    async end() {
      await worker.terminate();
    },
  };
}
