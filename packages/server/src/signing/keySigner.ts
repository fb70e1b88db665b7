import type { Logger } from "../model/telemetry/log.js";
import { type SigningThread, startSigningThread } from "./startThread.js";
import { signWrappers, type WrapperRequest, type WrappingOptions } from "./wrappers.js";

/** Signs wrappers with private keys that are in this process. */
export type KeySigner = ReturnType<typeof createKeySigner>;

export interface KeySignerDependencies {
  readonly options: WrappingOptions;
  readonly log: Logger;
  /** Starts the thread; tests replace it. */
  startThread?(onEnd: () => void): Promise<SigningThread>;
}

/** Batches from this size on go to the thread. The main thread signs smaller ones before the other would wake up. */
const MIN_THREAD_BATCH = 10;

/**
 * Signs small batches at once and large ones in a thread, which leaves the event loop to requests. The first large
 * batch starts the thread. Until it runs, and if it fails, batches are signed on the main thread.
 *
 * The signatures are not recovered to check them (D33): this process made them from the key that gave the address, and
 * a recovery takes as long as the signature itself, so it would halve the throughput.
 */
export function createKeySigner({ options, log, startThread = startSigningThread }: KeySignerDependencies) {
  let thread: SigningThread | undefined;
  let starting: Promise<void> | undefined;
  const onEnd = () => {
    thread = undefined;
    starting = undefined;
  };
  const warn = (error: unknown, message: string) => log.warn({ err: (error as Error).message }, message);
  const start = async () => {
    try {
      thread = await startThread(onEnd);
    } catch (error) {
      warn(error, "the signing thread does not start: everything is signed on the main thread");
    }
  };
  return {
    /** Wraps and signs in the order of the requests, with a key of 32 bytes. */
    async sign(requests: readonly WrapperRequest[], waiverKey: Uint8Array) {
      const { verificationGas, innerEncoding } = options;
      const signing = { waiverKey, verificationGas, innerEncoding };
      if (requests.length >= MIN_THREAD_BATCH) {
        starting ??= start();
        try {
          if (thread) return await thread.sign(requests, signing);
        } catch (error) {
          // Signing the batch on the main thread gives the same bytes, or the same error.
          warn(error, "the signing thread did not sign");
        }
      }
      return signWrappers(requests, signing);
    },
    /** Ends the thread. */
    async close() {
      await starting;
      await thread?.end();
    },
  };
}
