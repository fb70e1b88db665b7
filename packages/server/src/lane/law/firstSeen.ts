import { forgetOldest } from "../../util/forgetOldest.js";

/** For this long, nodes may contradict each other, in ms: behind one address, another may answer. */
export const PATIENCE_MS = 5_000;

export type FirstSeen = ReturnType<typeof createFirstSeen>;

/** Remembers what holds, by names, and since when. @param now a monotonic clock in ms. */
export function createFirstSeen(now: () => number = () => performance.now()) {
  const seenAt = new Map<string, number>();
  const since = (name: string): number | undefined => {
    const at = seenAt.get(name);
    if (at !== undefined) return now() - at;
    seenAt.set(name, now());
    forgetOldest(seenAt);
    return undefined;
  };
  return {
    /** Whether this is the first call with this name. */
    isFirst: (name: string) => since(name) === undefined,
    /** Whether the first call with this name was {@link PATIENCE_MS} ago. */
    isLasting: (name: string) => (since(name) ?? 0) >= PATIENCE_MS,
    /** Makes the next call with this name the first again. */
    forget(name: string) {
      seenAt.delete(name);
    },
  };
}
