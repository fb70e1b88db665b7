/** The length of half the time that is counted, in ms. */
const HALF_MS = 30_000;
/** The most keys that are shown: those that are refused most. */
const MAX_SHOWN = 10;

/**
 * Counts the requests that were refused for a key's rate, caps or share of the queue, by key, in the last 30 to 60 s. A flood has its
 * key's name so, and the metrics have no series for each key.
 */
export class RefusedKeys {
  #before = new Map<string, number>();
  #now = new Map<string, number>();
  #since: number;

  /** @param at a monotonic time in ms. */
  constructor(at = performance.now()) {
    this.#since = at;
  }

  add(keyId: string, at = performance.now()): void {
    this.#turn(at);
    this.#now.set(keyId, (this.#now.get(keyId) ?? 0) + 1);
  }

  /** @returns the keys that were refused most, with their counts. */
  most(at = performance.now()): [keyId: string, count: number][] {
    this.#turn(at);
    const counts = new Map(this.#before);
    for (const [keyId, count] of this.#now) counts.set(keyId, (counts.get(keyId) ?? 0) + count);
    return [...counts].sort(([, one], [, other]) => other - one).slice(0, MAX_SHOWN);
  }

  #turn(at: number): void {
    const halves = Math.floor((at - this.#since) / HALF_MS);
    if (halves < 1) return;
    this.#before = halves === 1 ? this.#now : new Map();
    this.#now = new Map();
    this.#since += halves * HALF_MS;
  }
}
