import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller, KeyLimits } from "../../model/caller.js";

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

/** Limits transactions per key on this replica alone (D22). */
export interface LocalRateLimiter {
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
 * A bucket of tokens for each key, one token a transaction: what was used comes back with time. What is kept is how
 * many are used, so that limits that change find it so. Only known keys get here: their number is bounded.
 */
export function createRateLimiter(now: () => number = () => performance.now()): LocalRateLimiter {
  const buckets = new Map<string, { readonly used: number; readonly at: number }>();
  const usedNow = (keyId: string, { ratePerSecond }: RateLimits, at: number): number => {
    const bucket = buckets.get(keyId) ?? { used: 0, at };
    return Math.max(0, bucket.used - ((at - bucket.at) * ratePerSecond) / 1_000);
  };
  return {
    take({ keyId, limits }, count) {
      const at = now();
      const used = usedNow(keyId, limits, at);
      const room = limits.rateBurst - used;
      if (count > room + ROUNDING) throw exceeded(limits, count, room);
      buckets.set(keyId, { used: used + count, at });
      return roomOf(limits, room - count);
    },
    giveBack({ keyId, limits }, count) {
      const at = now();
      if (buckets.has(keyId))
        buckets.set(keyId, { used: Math.max(0, usedNow(keyId, limits, at) - count), at });
    },
  };
}

/** A request that is larger than what is left. */
export function exceeded(limits: RateLimits, count: number, room: number): RateExceededError {
  const retryAfterSeconds = Math.max(1, secondsUntil(limits, count - room));
  return new RateExceededError(count, limits, retryAfterSeconds, roomOf(limits, room));
}

/** What so many tokens mean for who reads of them. */
export function roomOf(limits: RateLimits, tokens: number): RateState {
  const remaining = Math.max(0, Math.floor(tokens + ROUNDING));
  return { remaining, resetSeconds: secondsUntil(limits, limits.rateBurst - tokens) };
}

/** In how many whole seconds so many tokens come. */
export function secondsUntil({ ratePerSecond }: RateLimits, tokens: number): number {
  return Math.max(0, Math.ceil(tokens / ratePerSecond - ROUNDING));
}

/** In tokens, or in seconds: a clock's fractions do not add up exactly, and 2 s must not become 3. */
const ROUNDING = 1e-6;
