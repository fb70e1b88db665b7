/** A generator of pseudo-random numbers (mulberry32). The same seed gives the same numbers. */
export class SeededRandom {
  #state: number;

  /** @param stream separates draws for different purposes, so that draws for one do not shift those for another. */
  constructor(seed: number, stream: number) {
    this.#state = (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(stream + 1, 0xc2b2ae35)) >>> 0;
  }

  /** A number from 0 to 1, excluding 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to `limit`, excluding `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }
}
