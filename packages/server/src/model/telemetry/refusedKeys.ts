/** The length of half the time that is counted, in ms. */
const HALF_MS = 30_000;
/** The most keys that are shown: those that are refused most. */
const MAX_SHOWN = 10;

/**
 * Counts the requests that were refused for a key's rate, caps or share of the queue, by key, in the last 30 to 60 s. A flood has its
 * key's name so, and the metrics have no series for each key.
 * @param now a monotonic clock in ms.
 */
export function createRefusedKeys(now: () => number = () => performance.now()) {
  let before = new Map<string, number>();
  let present = new Map<string, number>();
  let since = now();
  const turn = () => {
    const halves = Math.floor((now() - since) / HALF_MS);
    if (halves < 1) return;
    before = halves === 1 ? present : new Map();
    present = new Map();
    since += halves * HALF_MS;
  };
  return {
    add(keyId: string) {
      turn();
      present.set(keyId, (present.get(keyId) ?? 0) + 1);
    },
    /** @returns the keys that were refused most, with their counts. */
    most() {
      turn();
      const counts = new Map(before);
      for (const [keyId, count] of present) counts.set(keyId, (counts.get(keyId) ?? 0) + count);
      return [...counts].sort(([, one], [, other]) => other - one).slice(0, MAX_SHOWN);
    },
  };
}
