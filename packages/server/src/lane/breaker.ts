/**
 * Keeps work away from a lane that fails, so that a broken key does not attract what others could do.
 *
 * `closed` until the lane has failed `failures` times in a row, or once for a reason that lies with the key itself.
 * Then `open` for a while, which doubles with each time up to a limit; after that `probing`: one submission at a
 * time, whose success closes it and whose failure opens it again.
 */
export interface Breaker {
  readonly state: "closed" | "open" | "probing";
  /** A submission was taken. Returns true if that closed it. */
  succeed(): boolean;
  /** Returns for how long it is open now, in ms, or undefined if it stays closed. */
  fail(severity: "once" | "at once"): number | undefined;
}

export interface BreakerOptions {
  readonly failures: number;
  readonly openMs: number;
  readonly maxOpenMs: number;
  /** A monotonic clock in ms. */
  readonly now: () => number;
}

export function createBreaker({ failures, openMs, maxOpenMs, now }: BreakerOptions): Breaker {
  let inARow = 0;
  let openings = 0;
  let openUntil = Number.NEGATIVE_INFINITY;
  const state = () => {
    if (openings === 0) return "closed";
    return now() < openUntil ? "open" : "probing";
  };
  return {
    get state() {
      return state();
    },
    succeed() {
      const wasOpen = openings > 0;
      inARow = 0;
      openings = 0;
      return wasOpen;
    },
    fail(severity) {
      inARow++;
      if (severity === "once" && inARow < failures && openings === 0) return undefined;
      const forMs = Math.min(maxOpenMs, openMs * 2 ** openings);
      openings++;
      openUntil = now() + forMs;
      return forMs;
    },
  };
}
