import type { WaiverAccount } from "@gas-waiver/protocol";
import { CustodyError, signWithAccount } from "./accountSigner.js";
import { createKeySigner, type KeySignerDependencies } from "./keySigner.js";
import { privateKeyOf } from "./privateKeyWaiver.js";
import type { SignedWrapper, WrapperRequest } from "./wrappers.js";

/**
 * Signs the wrappers of all lanes.
 *
 * Another custody is one new file in this folder that makes a `WaiverAccount` (and a `BatchWaiverAccount`, if its
 * signing service takes several hashes at once), and a setting of the command line that calls it. Its test calls
 * `describeWaiverAccount` of the protocol package.
 */
export interface Signer {
  /**
   * Wraps and signs in the order of the requests.
   * @throws {@link CustodyError} if the account's custody fails, takes too long, or returns the signature of another
   *   account.
   */
  sign(requests: readonly WrapperRequest[], account: WaiverAccount): Promise<SignedWrapper[]>;
  close(): Promise<void>;
}

export interface SignerDependencies extends KeySignerDependencies {
  /** Once it is aborted, no call to a custody outside of this process is waited for. */
  readonly signal: AbortSignal;
  /** The time that a custody outside of this process may take for one batch. */
  readonly custodyTimeoutMs?: number;
}

const CUSTODY_TIMEOUT_MS = 10_000;

export function createSigner(dependencies: SignerDependencies): Signer {
  const { options, signal, custodyTimeoutMs = CUSTODY_TIMEOUT_MS } = dependencies;
  const keySigner = createKeySigner(dependencies);
  return {
    sign(requests, account) {
      const key = privateKeyOf(account);
      if (key !== undefined) return keySigner.sign(requests, key);
      return giveUpAfter(signWithAccount(requests, account, options), custodyTimeoutMs, signal);
    },
    close: () => keySigner.close(),
  };
}

/** Gives up a custody that does not answer: the lane must neither stand still nor hold up the shutdown. */
function giveUpAfter<T>(signing: Promise<T>, timeoutMs: number, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (reason: string) =>
      reject(new CustodyError(`the waiver's custody did not sign: ${reason}`));
    const onAbort = () => giveUp("the service is shutting down");
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const timer = setTimeout(() => giveUp(`no answer within ${timeoutMs} ms`), timeoutMs);
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    signing.then(resolve, reject).finally(end);
  });
}
