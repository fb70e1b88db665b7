import { ProtocolError } from "@gas-waiver/protocol";
import { type Caller, type LimitedCaller, partyOf, type RateLimits } from "../../model/keys/caller.js";
import { SHARES_OF_SITE } from "../../model/options/networkAddress.js";
import { Ledger, type Terms } from "../../util/ledger.js";

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

/**
 * Keeps a token bucket for each key, or for each address under a publishable one: a transaction takes one token, and tokens
 * come back with time. The addresses of one IPv6 network of 48 bits share those of a few.
 */
export function createLocalRateLimiter(
  now: () => number = () => performance.now(),
  unit: RateUnit = "transactions",
): LocalRateLimiter {
  const ledger = new Ledger(now);
  return {
    take(caller, count) {
      const accounts = accountsOf(caller);
      const states = accounts.map(({ party, limits }) => {
        const available = limits.rateBurst - ledger.debtOf(party, termsOf(limits));
        if (count <= available + ROUNDING) return rateStateOf(limits, available - count);
        const owner = caller.address === undefined ? "the key's" : "this address's";
        throw rateExceeded(limits, count, available, unit, owner);
      });
      for (const { party, limits } of accounts) ledger.charge(party, count, termsOf(limits));
      return states[0] ?? rateStateOf(caller.limits, 0);
    },
    refund(caller, count) {
      for (const { party, limits } of accountsOf(caller)) ledger.charge(party, -count, termsOf(limits));
    },
  };
}

/** The accounts that a request is charged to: all of them, or none. */
function accountsOf(caller: RatedCaller) {
  const { keyId, site, limits } = caller;
  const own = { party: partyOf(caller), limits };
  if (site === undefined) return [own];
  const ratePerSecond = SHARES_OF_SITE * limits.ratePerSecond;
  const rateBurst = SHARES_OF_SITE * limits.rateBurst;
  return [own, { party: partyOf({ keyId, address: site }), limits: { ratePerSecond, rateBurst } }];
}

function termsOf({ ratePerSecond, rateBurst }: RateLimits): Terms {
  return { burst: rateBurst, perSecond: ratePerSecond };
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
