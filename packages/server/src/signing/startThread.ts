import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { pack, type SignAnswer, type SignRequest, signedWrappersOf } from "./messages.js";
import type { KeySigningOptions, SignedWrapper, WrapperRequest } from "./wrappers.js";

/** A worker thread that signs wrappers. */
export type SigningThread = Awaited<ReturnType<typeof startSigningThread>>;

/** The thread needs little memory. Without these limits it could grow as large as the main thread. */
const MEMORY_LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 64 };

interface PendingBatch {
  readonly resolve: (signed: SignedWrapper[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Starts the thread and resolves when it takes requests; rejects if it does not start.
 * @param onEnd called when a thread that had started has ended, by itself or by `end`.
 * @param program the path of the thread's program; tests replace it.
 */
export async function startSigningThread(
  onEnd: () => void = () => {},
  // The package's import map names the built program, also where tests run the sources.
  program = createRequire(import.meta.url).resolve("#signing-thread"),
) {
  // The thread gets no options and no environment: modules that an operator preloads are not meant for it.
  const worker = new Worker(program, { execArgv: [], env: {}, resourceLimits: MEMORY_LIMITS });
  const pending = new Map<number, PendingBatch>();
  let failure = new Error("the signing thread has ended");
  let ended = false;
  let nextId = 0;
  // The thread does not keep the process alive.
  worker.unref();
  worker.on("error", (error) => {
    failure = new Error(`the signing thread failed: ${error.message}`, { cause: error });
  });
  worker.on("messageerror", () => void worker.terminate());
  worker.once("exit", () => {
    ended = true;
    for (const { reject } of pending.values()) reject(failure);
    pending.clear();
  });
  await new Promise<void>((resolve, reject) => {
    worker.once("message", () => resolve());
    worker.once("exit", () => reject(failure));
  });
  // The thread can have ended between its first message and this line.
  if (ended) throw failure;
  worker.once("exit", onEnd);
  worker.on("message", (answer: SignAnswer) => {
    const batch = pending.get(answer.id);
    pending.delete(answer.id);
    if ("error" in answer) batch?.reject(new Error(answer.error));
    else batch?.resolve(signedWrappersOf(answer));
  });
  return {
    /** Rejects if the thread cannot sign the batch, has ended, or ends before it has answered. */
    sign(requests: readonly WrapperRequest[], options: KeySigningOptions) {
      if (ended) return Promise.reject(failure);
      const inners = pack(requests.map(({ innerRaw }) => innerRaw));
      const nonces = requests.map(({ waiverNonce }) => waiverNonce);
      const request: SignRequest = { id: nextId++, ...options, inners, nonces };
      return new Promise<SignedWrapper[]>((resolve, reject) => {
        pending.set(request.id, { resolve, reject });
        worker.postMessage(request, [inners.bytes.buffer]);
      });
    },
    async end() {
      await worker.terminate();
    },
  };
}
