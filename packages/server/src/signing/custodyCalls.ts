import type { Signature, WaiverAccount } from "@gas-waiver/protocol";
import { within } from "../util/within.js";

/** The end of one call of `sign`. */
export type CallOutcome =
  | { readonly kind: "signature"; readonly signature: Signature }
  | { readonly kind: "throttled"; readonly retryAfterMs: number | undefined }
  | { readonly kind: "no answer" | "failed"; readonly error: CustodyError };

/** The hash that a custody signs, 32 bytes, and the bytes that it is the hash of. */
export interface Signable {
  readonly hash: Uint8Array;
  readonly message: Uint8Array;
}

/** Calls a custody once. Never rejects. */
export async function callCustody(
  account: WaiverAccount,
  signable: Signable,
  timeoutMs: number,
): Promise<CallOutcome> {
  return await within(timeoutMs, answerOf(account, signable)).catch((late: Error) => {
    return { kind: "no answer", error: custodyError(late.message) };
  });
}

async function answerOf(account: WaiverAccount, { hash, message }: Signable): Promise<CallOutcome> {
  try {
    return { kind: "signature", signature: await account.sign(hash, message) };
  } catch (error) {
    if (error instanceof CustodyThrottledError) {
      return { kind: "throttled", retryAfterMs: error.retryAfterMs };
    }
    return {
      kind: "failed",
      error: custodyError(error instanceof Error ? error.message : String(error), error),
    };
  }
}

export function custodyError(reason: string, cause?: unknown): CustodyError {
  return new CustodyError(`the waiver's custody did not sign: ${reason}`, { cause });
}

/** The custody did not sign. Nothing was stored or sent. */
export class CustodyError extends Error {
  override readonly name: string = "CustodyError";
}

/** The custody gave a signature that is not the waiver's, or that no chain takes (D33). It was never sent. */
export class WrongSignatureError extends CustodyError {
  override readonly name = "WrongSignatureError";
}

/**
 * The `sign` of a custody throws this when its signing service takes no more calls for now. The service asks again later and
 * less often; the lane's breaker does not count it.
 * @example
 * ```ts
 * if (response.status === 429) throw new CustodyThrottledError({ retryAfterMs: 500 });
 * ```
 */
export class CustodyThrottledError extends Error {
  override readonly name = "CustodyThrottledError";
  /** The time that the signing service asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor({ retryAfterMs, cause }: { readonly retryAfterMs?: number; readonly cause?: unknown } = {}) {
    super("the signing service takes no more calls for now", { cause });
    this.retryAfterMs = retryAfterMs;
  }
}
