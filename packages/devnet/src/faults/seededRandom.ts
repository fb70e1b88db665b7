/** Numbers that look random and are the same for the same seed (mulberry32). */
export class Random {
  #state: number;

  /** @param stream keeps draws for different purposes apart, so that one more of one kind moves no other. */
  constructor(seed: number, stream: number) {
    this.#state = (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(stream + 1, 0xc2b2ae35)) >>> 0;
  }

  /** From 0 up to but not including 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to but not including `below`. */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }
}
