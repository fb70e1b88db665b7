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
