import { ProtocolError } from "@gas-waiver/protocol";

/** The state of a key's limit after a request, for the `RateLimit` fields. */
export interface RateState {
  /** Transactions that may be sent at once now. */
  readonly remaining: number;
  /** Until the whole burst is there again. */
  readonly resetSeconds: number;
}

/** The key's rate is used up; `retryAfterSeconds` is when this request would pass. */
export class RateExceededError extends ProtocolError {
  readonly retryAfterSeconds: number;
  readonly state: RateState;

  constructor(
    count: number,
    ratePerSecond: number,
    burst: number,
    retryAfterSeconds: number,
    state: RateState,
  ) {
    super(
      "RATE_EXCEEDED",
      `the key's rate of ${ratePerSecond} transactions a second (burst ${burst}) is used up: ${count} asked, ${state.remaining} left`,
      { ratePerSecond, burst, transactions: count, remaining: state.remaining },
    );
    this.retryAfterSeconds = retryAfterSeconds;
    this.state = state;
  }
}

/** Limits transactions per key (D22). */
export interface RateLimiter {
  /** @throws {@link RateExceededError} and counts nothing, if the transactions do not fit. */
  take(keyId: string, count: number): RateState;
  /** Transactions that were counted, and refused for another reason. */
  giveBack(keyId: string, count: number): void;
}

/**
 * GCRA: each key has one time stamp, the moment at which its burst would be whole again. Keys come from the
 * configuration, so their number is bounded.
 */
export function createRateLimiter(
  { ratePerSecond, rateBurst }: { ratePerSecond: number; rateBurst: number },
  now: () => number = () => performance.now(),
): RateLimiter {
  const intervalMs = 1_000 / ratePerSecond;
  const toleranceMs = rateBurst * intervalMs;
  const wholeAt = new Map<string, number>();
  const stateAt = (at: number, whole: number): RateState => ({
    remaining: Math.max(0, Math.floor((toleranceMs - (whole - at)) / intervalMs + ROUNDING)),
    resetSeconds: wholeSeconds(whole - at),
  });
  return {
    take(keyId, count) {
      const at = now();
      const before = Math.max(wholeAt.get(keyId) ?? at, at);
      const after = before + count * intervalMs;
      const excessMs = after - at - toleranceMs;
      if (excessMs > ROUNDING) {
        const retryAfterSeconds = Math.max(1, wholeSeconds(excessMs));
        throw new RateExceededError(count, ratePerSecond, rateBurst, retryAfterSeconds, stateAt(at, before));
      }
      wholeAt.set(keyId, after);
      return stateAt(at, after);
    },
    giveBack(keyId, count) {
      const whole = wholeAt.get(keyId);
      if (whole !== undefined) wholeAt.set(keyId, whole - count * intervalMs);
    },
  };
}

/** A clock's fractions do not add up exactly: 2 s must not become 3. */
const ROUNDING = 1e-6;

function wholeSeconds(ms: number): number {
  return Math.max(0, Math.ceil((ms - ROUNDING) / 1_000));
}
