import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller, KeyLimits } from "../caller.js";

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
    { ratePerSecond, rateBurst: burst }: RateLimits,
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
  take(caller: RatedCaller, count: number): RateState;
  /** Transactions that were counted, and refused for another reason. */
  giveBack(caller: RatedCaller, count: number): void;
}

export type RateLimits = Pick<KeyLimits, "ratePerSecond" | "rateBurst">;

/** What the limiter must know of who calls. */
export interface RatedCaller extends Pick<Caller, "keyId"> {
  readonly limits: RateLimits;
}

/**
 * GCRA: each key has one time stamp, the moment at which its burst would be whole again. Only known keys get here, so
 * their number is bounded.
 */
export function createRateLimiter(now: () => number = () => performance.now()): RateLimiter {
  const wholeAt = new Map<string, number>();
  return {
    take({ keyId, limits }, count) {
      const at = now();
      const { intervalMs, toleranceMs } = spacingOf(limits);
      const before = Math.max(wholeAt.get(keyId) ?? at, at);
      const after = before + count * intervalMs;
      const excessMs = after - at - toleranceMs;
      if (excessMs > ROUNDING) {
        const retryAfterSeconds = Math.max(1, wholeSeconds(excessMs));
        throw new RateExceededError(count, limits, retryAfterSeconds, stateAt(limits, at, before));
      }
      wholeAt.set(keyId, after);
      return stateAt(limits, at, after);
    },
    giveBack({ keyId, limits }, count) {
      const whole = wholeAt.get(keyId);
      if (whole !== undefined) wholeAt.set(keyId, whole - count * spacingOf(limits).intervalMs);
    },
  };
}

/** The time that one transaction takes at the key's rate, and the time that its burst takes. */
function spacingOf({ ratePerSecond, rateBurst }: RateLimits): { intervalMs: number; toleranceMs: number } {
  const intervalMs = 1_000 / ratePerSecond;
  return { intervalMs, toleranceMs: rateBurst * intervalMs };
}

/** What is left at a moment, if the burst will be whole at another. */
function stateAt(limits: RateLimits, at: number, whole: number): RateState {
  const { intervalMs, toleranceMs } = spacingOf(limits);
  return {
    remaining: Math.max(0, Math.floor((toleranceMs - (whole - at)) / intervalMs + ROUNDING)),
    resetSeconds: wholeSeconds(whole - at),
  };
}

/** A clock's fractions do not add up exactly: 2 s must not become 3. */
const ROUNDING = 1e-6;

function wholeSeconds(ms: number): number {
  return Math.max(0, Math.ceil((ms - ROUNDING) / 1_000));
}
