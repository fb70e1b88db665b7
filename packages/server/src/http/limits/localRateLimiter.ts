import { ProtocolError } from "@gas-waiver/protocol";
import { type Caller, type LimitedCaller, partyOf, type RateLimits } from "../../model/keys/caller.js";

/** The things that a rate counts, which the `RateLimit` header fields name. */
export type RateUnit = "transactions" | "reads" | "bytes" | "unknown-keys";

/** Whose rate is used up, for the message of a refusal. */
export type RateOwner = "the key's" | "this address's" | "this address's share of the key's";

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
    owner: RateOwner = "the key's",
  ) {
    const { ratePerSecond, rateBurst: burst } = limits;
    super(
      "RATE_EXCEEDED",
      `${owner} rate of ${ratePerSecond} ${unit} a second (burst ${burst}) is used up: ${count} asked, ${state.remaining} left`,
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

/** The tokens of one request: one for each transaction. */
export interface TakenTokens {
  readonly state: RateState;
  /** Puts the tokens back. For requests that are refused for another reason. */
  refund(): void;
}

/** The part of a caller that rate limiters use. */
export interface RatedCaller extends LimitedCaller, Pick<Caller, "publishable"> {
  readonly limits: RateLimits;
}

/** The tolerance in tokens or in seconds: a clock's fractions do not add up exactly, and 2 s must not become 3. */
const ROUNDING = 1e-6;

/** The buckets that are kept: of the latest callers. Addresses under a publishable key are without number. */
const MAX_BUCKETS = 10_000;

/**
 * Keeps a token bucket for each key, or for each address under a publishable one: a transaction takes one token, and tokens
 * come back with time. The bucket stores the used tokens rather than the free ones, so that changed limits apply at once.
 */
export function createLocalRateLimiter(
  now: () => number = () => performance.now(),
  unit: RateUnit = "transactions",
): LocalRateLimiter {
  const buckets = new Map<string, { readonly used: number; readonly at: number }>();
  const usedNow = (party: string, { ratePerSecond }: RateLimits, at: number): number => {
    const bucket = buckets.get(party) ?? { used: 0, at };
    return Math.max(0, bucket.used - ((at - bucket.at) * ratePerSecond) / 1_000);
  };
  const setUsed = (party: string, used: number, at: number) => {
    buckets.delete(party);
    buckets.set(party, { used, at });
    const [oldest = ""] = buckets.size > MAX_BUCKETS ? buckets.keys() : [];
    buckets.delete(oldest);
  };
  return {
    take(caller, count) {
      const { limits } = caller;
      const party = partyOf(caller);
      const at = now();
      const used = usedNow(party, limits, at);
      const available = limits.rateBurst - used;
      if (count > available + ROUNDING) {
        const owner = caller.address === undefined ? "the key's" : "this address's";
        throw rateExceeded(limits, count, available, unit, owner);
      }
      setUsed(party, used + count, at);
      return rateStateOf(limits, available - count);
    },
    refund(caller, count) {
      const party = partyOf(caller);
      const at = now();
      if (buckets.has(party)) setUsed(party, Math.max(0, usedNow(party, caller.limits, at) - count), at);
    },
  };
}

/** The refusal of a request that needs `count` tokens when there are `available`. */
export function rateExceeded(
  limits: RateLimits,
  count: number,
  available: number,
  unit: RateUnit = "transactions",
  owner: RateOwner = "the key's",
): RateExceededError {
  const retryAfterSeconds = Math.max(1, secondsUntil(limits, count - available));
  const state = rateStateOf(limits, available);
  return new RateExceededError(count, limits, { retryAfterSeconds, state, unit }, owner);
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
