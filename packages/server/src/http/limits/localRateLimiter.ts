import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller, RateLimits } from "../../model/caller.js";

/** The things that a rate counts, which the `RateLimit` header fields name. */
export type RateUnit = "transactions" | "reads" | "unknown-keys";

/** The state of a key's rate limit after a request, for the `RateLimit` header fields. */
export interface RateState {
  /** Transactions, or reads, that the key may send now without a pause. */
  readonly remaining: number;
  /** Seconds until the whole burst is available again. */
  readonly resetSeconds: number;
}

/** The key's rate is used up. The same request passes after `retryAfterSeconds`. */
export class RateExceededError extends ProtocolError {
  readonly retryAfterSeconds: number;
  readonly state: RateState;
  readonly limits: RateLimits;
  readonly unit: RateUnit;

  constructor(
    count: number,
    limits: RateLimits,
    { retryAfterSeconds, state, unit }: Pick<RateExceededError, "retryAfterSeconds" | "state" | "unit">,
  ) {
    const { ratePerSecond, rateBurst: burst } = limits;
    super(
      "RATE_EXCEEDED",
      `the key's rate of ${ratePerSecond} ${unit} a second (burst ${burst}) is used up: ${count} asked, ${state.remaining} left`,
      { ratePerSecond, burst, unit, asked: count.toString(), remaining: state.remaining, retryAfterSeconds },
    );
    this.retryAfterSeconds = retryAfterSeconds;
    this.state = state;
    this.limits = limits;
    this.unit = unit;
  }
}

/** Limits the transactions of each key on this replica alone (D22). */
export interface LocalRateLimiter {
  /** @throws {@link RateExceededError}, and counts nothing, if the key has too few tokens for the transactions. */
  take(caller: RatedCaller, count: number): RateState;
  /** Puts the tokens of transactions back that were refused for another reason. */
  refund(caller: RatedCaller, count: number): void;
}

/** The part of a caller that rate limiters use. */
export interface RatedCaller extends Pick<Caller, "keyId"> {
  readonly limits: RateLimits;
}

/** The tolerance in tokens or in seconds: a clock's fractions do not add up exactly, and 2 s must not become 3. */
const ROUNDING = 1e-6;

/**
 * Keeps a token bucket for each key: a transaction takes one token, and tokens come back with time. The bucket stores
 * the used tokens rather than the free ones, so that changed limits apply at once. Only authenticated callers get a
 * bucket, which bounds their number.
 */
export function createLocalRateLimiter(
  now: () => number = () => performance.now(),
  unit: RateUnit = "transactions",
): LocalRateLimiter {
  const buckets = new Map<string, { readonly used: number; readonly at: number }>();
  const usedNow = (keyId: string, { ratePerSecond }: RateLimits, at: number): number => {
    const bucket = buckets.get(keyId) ?? { used: 0, at };
    return Math.max(0, bucket.used - ((at - bucket.at) * ratePerSecond) / 1_000);
  };
  return {
    take({ keyId, limits }, count) {
      const at = now();
      const used = usedNow(keyId, limits, at);
      const available = limits.rateBurst - used;
      if (count > available + ROUNDING) throw rateExceeded(limits, count, available, unit);
      buckets.set(keyId, { used: used + count, at });
      return rateStateOf(limits, available - count);
    },
    refund({ keyId, limits }, count) {
      const at = now();
      if (buckets.has(keyId))
        buckets.set(keyId, { used: Math.max(0, usedNow(keyId, limits, at) - count), at });
    },
  };
}

/** The refusal of a request that needs `count` tokens when there are `available`. */
export function rateExceeded(
  limits: RateLimits,
  count: number,
  available: number,
  unit: RateUnit = "transactions",
): RateExceededError {
  const retryAfterSeconds = Math.max(1, secondsUntil(limits, count - available));
  return new RateExceededError(count, limits, {
    retryAfterSeconds,
    state: rateStateOf(limits, available),
    unit,
  });
}

/** Describes a number of tokens, with its fraction, in the terms of the `RateLimit` fields. */
export function rateStateOf(limits: RateLimits, tokens: number): RateState {
  const remaining = Math.max(0, Math.floor(tokens + ROUNDING));
  return { remaining, resetSeconds: secondsUntil(limits, limits.rateBurst - tokens) };
}

/** Whole seconds until `tokens` more have come. */
function secondsUntil({ ratePerSecond }: RateLimits, tokens: number): number {
  return Math.max(0, Math.ceil(tokens / ratePerSecond - ROUNDING));
}
