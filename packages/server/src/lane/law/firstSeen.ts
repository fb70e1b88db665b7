import { forgetOldest } from "../../util/forgetOldest.js";

/** Remembers since when something holds. */
export interface FirstSeen {
  /** @returns the time since the first call with this name, in ms; undefined at the first call. */
  since(name: string): number | undefined;
  /** Makes the next call with this name the first again. */
  forget(name: string): void;
}

/** @param now a monotonic clock in ms. */
export function createFirstSeen(now: () => number = () => performance.now()): FirstSeen {
  const seenAt = new Map<string, number>();
  return {
    since(name) {
      const at = seenAt.get(name);
      if (at !== undefined) return now() - at;
      seenAt.set(name, now());
      forgetOldest(seenAt);
      return undefined;
    },
    forget(name) {
      seenAt.delete(name);
    },
  };
}
