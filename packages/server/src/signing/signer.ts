import type { Logger } from "../model/log.js";
import { type SigningThread, startSigningThread } from "./startThread.js";
import { type SignedWrapper, signWrappers, type WrapOptions, type WrapperRequest } from "./wrappers.js";

/** Makes wrappers. */
export interface Signer {
  /** Wraps and signs, in the order given. */
  sign(toWrap: readonly WrapperRequest[], waiverKey: Uint8Array): Promise<SignedWrapper[]>;
  close(): Promise<void>;
}

export interface SignerDependencies {
  readonly options: Pick<WrapOptions, "verificationGas">;
  readonly log: Logger;
  start?(onEnd: () => void): Promise<SigningThread>;
}

/** Fewer are signed here, sooner than a thread has woken up. */
const WORTH_A_THREAD = 10;

/**
 * Signs few wrappers here and many in a thread, which leaves this one to requests. The thread is started for the first
 * many; until it is there, where it cannot be had, and what it leaves undone is signed here.
 */
export function createSigner({ options, log, start = startSigningThread }: SignerDependencies): Signer {
  let thread: SigningThread | undefined;
  let starting: Promise<void> | undefined;
  const onEnd = () => {
    thread = undefined;
    starting = undefined;
  };
  const begin = async () => {
    try {
      thread = await start(onEnd);
    } catch (error) {
      warn(error, "the signing thread does not start: all is signed without it");
    }
  };
  const warn = (error: unknown, what: string) => log.warn({ err: (error as Error).message }, what);
  return {
    async sign(toWrap, waiverKey) {
      const how = { waiverKey, verificationGas: options.verificationGas };
      if (toWrap.length >= WORTH_A_THREAD) {
        starting ??= begin();
        try {
          if (thread) return await thread.sign(toWrap, how);
        } catch (error) {
          // The same bytes come of it here, or the reason why none do.
          warn(error, "the signing thread did not sign");
        }
      }
      return signWrappers(toWrap, how);
    },
    async close() {
      await starting;
      await thread?.end();
    },
  };
}
