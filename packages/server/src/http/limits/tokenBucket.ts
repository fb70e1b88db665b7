import type { TokenStore } from "../../store/tokenStore.js";
import {
  exceeded,
  type RateExceededError,
  type RateLimits,
  type RateState,
  roomOf,
} from "./localRateLimiter.js";

interface Waiting {
  readonly count: number;
  /** From this purse; the rest has to be asked for. */
  own: number;
  readonly resolve: (state: RateState) => void;
  readonly reject: (error: unknown) => void;
}

export interface TokenBucketOptions {
  readonly keyId: string;
  readonly bank: TokenStore;
  /** In ms. */
  readonly now: () => number;
}

/** The share of its burst that a replica takes for a key in advance: so much may lie idle in each. */
const CHUNK = 0.05;

/** The tokens of one key on one replica: taken from the bank a few at a time, and spent here. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #limits: RateLimits;
  #tokens = 0;
  /** What the bank had left, when it last said so. */
  #left: { readonly available: number; readonly at: number } | undefined;
  #waiting: Waiting[] = [];
  #asking = false;
  #usedAt = 0;

  constructor(options: TokenBucketOptions, limits: RateLimits) {
    this.#options = options;
    this.#limits = limits;
  }

  /**
   * @returns what is left, over all replicas as far as it is known.
   * @throws {@link RateExceededError}, or what the bank fails with: then nothing was taken.
   */
  take(limits: RateLimits, count: number): Promise<RateState> {
    this.#usedAt = this.#options.now();
    this.#follow(limits);
    if (this.#waiting.length === 0 && !this.#asking) {
      if (count <= this.#tokens) {
        this.#tokens -= count;
        return Promise.resolve(this.#state());
      }
      // The bank could not have got enough since it was asked: it need not be asked again.
      if (count > this.#room() + ROUNDING) return Promise.reject(this.#exceeded(count));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ count, own: 0, resolve, reject });
      void this.#ask();
    });
  }

  /** Tokens that were taken, and not used. */
  put(count: number): void {
    this.#tokens += count;
  }

  /** Gives what has lain idle for a while back to the bank, for other replicas. */
  async giveBack(idleMs: number): Promise<void> {
    const { keyId, bank, now } = this.#options;
    if (this.#tokens === 0 || now() - this.#usedAt < idleMs) return;
    const count = this.#tokens;
    this.#tokens = 0;
    await bank.giveBack(keyId, count);
    if (this.#left) this.#left = { ...this.#left, available: this.#left.available + count };
  }

  /** Limits that have changed make what is known of the bank worthless. */
  #follow(limits: RateLimits): void {
    const { ratePerSecond, rateBurst } = this.#limits;
    if (limits.ratePerSecond !== ratePerSecond || limits.rateBurst !== rateBurst) this.#left = undefined;
    this.#limits = limits;
  }

  /** One question at a time, for all who wait. Never rejects. */
  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    while (this.#waiting.length > 0) await this.#askFor(this.#waiting.splice(0));
    this.#asking = false;
  }

  async #askFor(waiting: readonly Waiting[]): Promise<void> {
    const { keyId, bank, now } = this.#options;
    const limits = this.#limits;
    for (const one of waiting) {
      one.own = Math.min(this.#tokens, one.count);
      this.#tokens -= one.own;
    }
    const chunk = Math.floor(CHUNK * limits.rateBurst);
    const needs = waiting.map(({ count, own }) => count - own);
    // Who sends large batches asks for each anyway.
    const more = needs.every((need) => need < chunk) ? chunk : 0;
    try {
      const { granted, extra, available } = await bank.take({ keyId, limits, needs, more });
      this.#left = { available, at: now() };
      this.#tokens += extra;
      for (const [i, one] of waiting.entries()) if (!granted[i]) this.#tokens += one.own;
      for (const [i, one] of waiting.entries()) {
        if (granted[i]) one.resolve(this.#state());
        else one.reject(this.#exceeded(one.count));
      }
    } catch (error) {
      for (const { own } of waiting) this.#tokens += own;
      for (const one of waiting) one.reject(error);
    }
  }

  /** Tokens for all replicas now, as far as is known here, with the fraction of the next. */
  #room(): number {
    if (this.#left === undefined) return Number.POSITIVE_INFINITY;
    const elapsedMs = this.#options.now() - this.#left.at;
    const grown = this.#left.available + (elapsedMs * this.#limits.ratePerSecond) / 1_000;
    return Math.min(this.#limits.rateBurst, grown + this.#tokens);
  }

  #state(): RateState {
    const room = Math.min(this.#limits.rateBurst, this.#room());
    return roomOf(this.#limits, room);
  }

  #exceeded(count: number): RateExceededError {
    return exceeded(this.#limits, count, Math.min(this.#limits.rateBurst, this.#room()));
  }
}

const ROUNDING = 1e-3;
