import type { SignedWrapper, WrapperRequest } from "./wrappers.js";

/** A submission that is to be signed under a waiver nonce. */
export interface LaneSignRequest extends WrapperRequest {
  readonly id: string;
}

/** Signs the wrappers of one lane. */
export interface LaneSigner {
  /** The most submissions that are worth planning at once; infinite where all are signed at once. */
  readonly window: number;
  /** The waiver nonces under which submissions are being signed, or are signed and not returned for good, by their ids. */
  readonly begun: ReadonlyMap<string, bigint>;
  /** The custody failed for the submission several times while it signed others: leave it out for now. */
  isRefused(id: string): boolean;
  /**
   * Wraps and signs.
   * @param requests in the order of their nonces. What an earlier call named and this one does not is given up.
   * @returns the wrappers of the first ones. The next call continues with the others, and returns again what was not stored.
   * @throws {@link CustodyError} if the custody fails, and {@link WrongSignatureError} if it gives another's signature.
   */
  sign(requests: readonly LaneSignRequest[]): Promise<readonly SignedWrapper[]>;
}
