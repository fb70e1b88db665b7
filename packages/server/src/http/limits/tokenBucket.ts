import type { RateLimits } from "../../model/keys/caller.js";
import type { TokenStore } from "../../store/keys/tokenStore.js";
import { batched } from "../../util/batched.js";
import { type RateRefusal, type RateState, rateExceeded, rateStateOf } from "./rates.js";

export interface TokenBucketOptions {
  readonly keyId: string;
  readonly tokenStore: TokenStore;
  /** Returns the time in ms. */
  readonly now: () => number;
}

/** The share of a key's burst that a replica takes in advance. Besides refunds, at most this share is idle on each replica. */
const PREFETCH_SHARE = 0.05;

/** The tolerance in tokens: the store's fractions of a token do not add up exactly. */
const ROUNDING = 1e-3;

/** The tokens of one key on one replica. The store hands them out a few at a time, and this replica spends them. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #limits: RateLimits;
  #tokens = 0;
  /** The store's balance for the key, and the time of that answer. */
  #balance: { readonly available: number; readonly at: number } | undefined;
  #waiting = 0;
  #usedAt = 0;

  constructor(options: TokenBucketOptions, limits: RateLimits) {
    this.#options = options;
    this.#limits = limits;
  }

  /**
   * @returns the tokens that are left over all replicas, as far as this replica knows.
   * @throws {@link RateRefusal}, or the store's error. Then nothing was taken.
   */
  async take(limits: RateLimits, count: number): Promise<RateState> {
    this.#usedAt = this.#options.now();
    this.#setLimits(limits);
    if (this.#waiting === 0) {
      if (count <= this.#tokens) {
        this.#tokens -= count;
        return this.#state();
      }
      // By its rate, the store cannot have got enough tokens since it was asked, so it is not asked again.
      if (count > this.#available() + ROUNDING) throw this.#exceeded(count);
    }
    this.#waiting++;
    try {
      if (!(await this.#ask(count))) throw this.#exceeded(count);
      return this.#state();
    } finally {
      this.#waiting--;
    }
  }

  /** Puts tokens back that were taken and not used. */
  refund(count: number): void {
    this.#tokens += count;
  }

  /** Returns the tokens to the store, for other replicas, if none was used for `idleMs`. */
  async returnIdle(idleMs: number): Promise<void> {
    const { keyId, tokenStore, now } = this.#options;
    if (this.#tokens === 0 || now() - this.#usedAt < idleMs) return;
    const count = this.#tokens;
    this.#tokens = 0;
    await tokenStore.giveBack(keyId, count);
    if (this.#balance) this.#balance = { ...this.#balance, available: this.#balance.available + count };
  }

  /** Discards the balance if the limits have changed, because the store computed it under the old ones. */
  #setLimits(limits: RateLimits): void {
    const { ratePerSecond, rateBurst } = this.#limits;
    if (limits.ratePerSecond !== ratePerSecond || limits.rateBurst !== rateBurst) this.#balance = undefined;
    this.#limits = limits;
  }

  /** Asks the store for the tokens of all waiting requests together, beside those of this replica. */
  readonly #ask = batched(async (counts: readonly number[]): Promise<readonly boolean[]> => {
    const { keyId, tokenStore, now } = this.#options;
    const limits = this.#limits;
    const held = this.#tokens;
    this.#tokens = 0;
    let left = held;
    const needs = counts.map((count) => {
      const own = Math.min(left, count);
      left -= own;
      return count - own;
    });
    const share = Math.floor(PREFETCH_SHARE * limits.rateBurst);
    // A client of large batches asks the store for each of them in any case.
    const prefetch = needs.every((need) => need < share) ? share : 0;
    try {
      const { granted, prefetched, available } = await tokenStore.take({ keyId, limits, needs, prefetch });
      this.#balance = { available, at: now() };
      const unused = needs.map((need, i) => (granted[i] ? 0 : (counts[i] ?? need) - need));
      this.#tokens += unused.reduce((sum, own) => sum + own, left + prefetched);
      return granted;
    } catch (error) {
      this.#tokens += held;
      throw error;
    }
  });

  /** Tokens for all replicas now, as far as this replica knows, with the fraction of the next one. */
  #available(): number {
    if (this.#balance === undefined) return Number.POSITIVE_INFINITY;
    const elapsedMs = this.#options.now() - this.#balance.at;
    const inStore = this.#balance.available + (elapsedMs * this.#limits.ratePerSecond) / 1_000;
    return Math.min(this.#limits.rateBurst, inStore + this.#tokens);
  }

  #state(): RateState {
    return rateStateOf(this.#limits, Math.min(this.#limits.rateBurst, this.#available()));
  }

  #exceeded(count: number): RateRefusal {
    const available = Math.min(this.#limits.rateBurst, this.#available());
    return rateExceeded({ limits: this.#limits, unit: "transactions", available }, count);
  }
}
