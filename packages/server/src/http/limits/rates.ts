import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyReply } from "fastify";
import { type LimitedCaller, partyOf, type RateLimits } from "../../model/keys/caller.js";
import { SHARES_OF_SITE } from "../../model/options/networkAddress.js";
import { Ledger } from "../../util/ledger.js";

/** The things that a rate counts, which the `RateLimit` header fields name. */
export type RateUnit = "transactions" | "reads" | "bytes" | "unknown-keys";

/** The state of a rate, for the `RateLimit` header fields. */
export interface RateState {
  /** Transactions, or reads, that may be sent now without a pause. */
  readonly remaining: number;
  /** Seconds until the whole burst is available again. */
  readonly resetSeconds: number;
}

/** A bucket of tokens. One token is one transaction, one read, one byte or one guess. */
export interface Bucket {
  readonly party: string;
  /** The part of the party that shares its bucket with the other parts: an address under a key. */
  readonly part?: string | undefined;
  readonly limits: RateLimits;
  /** Names whose rate it is, in a refusal. */
  readonly owner: "the key's" | "this address's";
}

/** A rate, as the `RateLimit` header fields tell it. */
export interface Rate {
  readonly limits: RateLimits;
  readonly unit: RateUnit;
  readonly state: RateState;
}

/** A rate is used up. The same request passes after `retryAfterSeconds`. */
export class RateRefusal extends ProtocolError implements Rate {
  readonly retryAfterSeconds: number;
  readonly limits: RateLimits;
  readonly unit: RateUnit;
  readonly state: RateState;

  /** @param missing the tokens that have to come before the same request passes. */
  constructor(
    rate: Rate,
    missing: number,
    ...[reason, message, values]: ConstructorParameters<typeof ProtocolError>
  ) {
    const retryAfterSeconds = Math.max(1, secondsUntil(rate.limits, missing));
    super(reason, message, { ...values, retryAfterSeconds });
    this.retryAfterSeconds = retryAfterSeconds;
    this.limits = rate.limits;
    this.unit = rate.unit;
    this.state = rate.state;
  }
}

/**
 * The buckets of a key, or of an address under a publishable one, which shares four times the limits with its like where it is an IPv6
 * network of 48 bits.
 */
export function bucketsOf({ keyId, address, site }: LimitedCaller, limits: RateLimits): Bucket[] {
  const owner = address === undefined ? "the key's" : "this address's";
  const own: Bucket = { party: partyOf({ keyId, ...(address !== undefined && { address }) }), limits, owner };
  if (site === undefined) return [own];
  const ratePerSecond = SHARES_OF_SITE * limits.ratePerSecond;
  const rateBurst = SHARES_OF_SITE * limits.rateBurst;
  return [own, { ...own, party: partyOf({ keyId, address: site }), limits: { ratePerSecond, rateBurst } }];
}

/** The tolerance in tokens or in seconds: a clock's fractions do not add up exactly, and 2 s must not become 3. */
const ROUNDING = 1e-6;

/** The token buckets of this replica. Tokens come back with time. */
export class Rates {
  readonly #unit: RateUnit;
  readonly #ledger: Ledger;

  constructor(unit: RateUnit, now: () => number = () => performance.now()) {
    this.#unit = unit;
    this.#ledger = new Ledger(now);
  }

  /**
   * Takes tokens from all of the buckets.
   * @returns the state of the bucket with the fewest tokens.
   * @throws {@link RateRefusal}, and takes nothing, if one has too few.
   */
  take(buckets: readonly Bucket[], count: number): RateState {
    for (const bucket of buckets) this.#assertAvailable(bucket, count);
    this.refund(buckets, -count);
    return this.stateOf(buckets);
  }

  /** Puts tokens back whose request was refused for another reason. */
  refund(buckets: readonly Bucket[], count: number): void {
    for (const bucket of buckets) {
      const { party, part, limits } = bucket;
      this.#ledger.charge(party, -count, limits);
      if (part !== undefined)
        this.#debtsOfParts(bucket).charge(part, -count, { ...limits, ratePerSecond: 1 });
    }
  }

  /** Counts what other replicas have taken, or given back, so that `available` is left. */
  learn(buckets: readonly Bucket[], available: number): void {
    for (const one of buckets) this.refund([one], available - this.#available(one));
  }

  /** @returns the state of the bucket with the fewest tokens. */
  stateOf(buckets: readonly Bucket[]): RateState {
    const states = buckets.map((bucket) => rateStateOf(bucket.limits, this.#available(bucket)));
    return states.reduce((least, state) => (state.remaining <= least.remaining ? state : least));
  }

  /** The refusal of a request that needs `count` tokens. */
  refusalOf(
    { limits, owner }: Pick<Bucket, "limits"> & { readonly owner: string },
    count: number,
    available: number,
  ): RateRefusal {
    const { ratePerSecond, rateBurst: burst } = limits;
    const unit = this.#unit;
    const state = rateStateOf(limits, available);
    const { remaining } = state;
    const message = `${owner} rate of ${ratePerSecond} ${unit} a second (burst ${burst}) is used up: ${count} asked, ${remaining} left`;
    const values = { ratePerSecond, burst, unit, asked: count.toString(), remaining };
    return new RateRefusal({ limits, unit, state }, count - available, "RATE_EXCEEDED", message, values);
  }

  #available({ party, limits }: Bucket): number {
    return limits.rateBurst - this.#ledger.debtOf(party, limits);
  }

  #debtsOfParts({ party, limits: { ratePerSecond } }: Bucket): Ledger {
    return this.#ledger.partsOf(party, (parts) => ratePerSecond / parts);
  }

  /** No part may have used more than is left. So one that floods leaves half of the burst to others, and two leave a third. */
  #assertAvailable(bucket: Bucket, count: number): void {
    const { part, limits } = bucket;
    const free = this.#available(bucket);
    const ofPart = part === undefined ? 0 : this.#debtsOfParts(bucket).debtOf(part);
    const available = free - ofPart;
    if (count <= available + ROUNDING) return;
    const isOfPart = part !== undefined && count <= free + ROUNDING;
    const owner = isOfPart ? "this address's share of the key's" : bucket.owner;
    throw this.refusalOf({ limits, owner }, count, available);
  }
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

/** Sets the IETF `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers): what is left, and a quota for each window of whole seconds. */
export function setRateLimit(reply: FastifyReply, { limits, state, unit }: Rate): void {
  const { ratePerSecond, rateBurst } = limits;
  const windowSeconds = Math.max(1, Math.ceil(rateBurst / ratePerSecond));
  reply.header("ratelimit-policy", `"${unit}";q=${rateBurst};w=${windowSeconds}`);
  reply.header("ratelimit", `"${unit}";r=${state.remaining};t=${state.resetSeconds}`);
}
