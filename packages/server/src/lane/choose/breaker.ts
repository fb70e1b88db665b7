/**
 * Keeps new work away from a lane that fails, so that a broken key does not attract the work of other lanes.
 *
 * - `closed`: the lane works. `failures` counted failures in a row open it, or one decisive failure.
 * - `open`: the lane takes nothing for `openMs`, which doubles with each opening up to `maxOpenMs`.
 * - `probing`: the lane takes one submission at a time. A success closes the breaker, a failure opens it again.
 */
export interface Breaker {
  readonly state: "closed" | "open" | "probing";
  /** Records a success. Returns true if that closed the breaker. */
  succeed(): boolean;
  /** Records a failure. Returns the time in ms that the breaker is open now; undefined if the failure did not open it. */
  fail(severity: "counted" | "decisive"): number | undefined;
}

export interface BreakerOptions {
  readonly failures: number;
  readonly openMs: number;
  readonly maxOpenMs: number;
  /** A monotonic clock in ms. */
  readonly now: () => number;
}

export function createBreaker({ failures, openMs, maxOpenMs, now }: BreakerOptions): Breaker {
  let failuresInARow = 0;
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
      failuresInARow = 0;
      openings = 0;
      return wasOpen;
    },
    fail(severity) {
      // An open lane only resends old bytes. Their failure tells nothing new: no probe has failed.
      if (state() === "open") return undefined;
      failuresInARow++;
      if (severity === "counted" && failuresInARow < failures && openings === 0) return undefined;
      const openForMs = Math.min(maxOpenMs, openMs * 2 ** openings);
      openings++;
      openUntil = now() + openForMs;
      return openForMs;
    },
  };
}
