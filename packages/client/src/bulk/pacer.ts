import { pause } from "../http/pause.js";

/** Keeps a rate: a bucket of tokens that is full at the start. */
export class Pacer {
  readonly #perMs: number;
  readonly #most: number;
  readonly #now: () => number;
  #tokens: number;
  #at: number;

  constructor(perSecond: number, burst: number, now: () => number = () => performance.now()) {
    this.#perMs = perSecond / 1_000;
    this.#most = burst;
    this.#now = now;
    this.#tokens = burst;
    this.#at = now();
  }

  /** Waits until so many tokens are there, and takes them. */
  async take(count: number, signal: AbortSignal): Promise<void> {
    const now = this.#now();
    this.#tokens = Math.min(this.#most, this.#tokens + (now - this.#at) * this.#perMs) - count;
    this.#at = now;
    if (this.#tokens < 0) await pause(Math.ceil(-this.#tokens / this.#perMs), signal);
  }
}
