/**
 * The least time in ms for which a part must have been unwell before it counts as unwell: longer than a missed poll. Where a
 * takeover of a lane takes longer, so does this (`observeReadiness.ts`).
 */
export const PATIENCE_MS = 5_000;
/** The most time between two observations that count as one state, in ms. After a longer one, this process itself was held up. */
const MAX_GAP_MS = 2_000;

/**
 * The state of a part, for probes that act on each answer: a restart of a node, a slow query or a lane that changes its
 * owner must not take the service out. What begins unwell is unwell until it was well once.
 */
export function createLastingState(patienceMs: number) {
  let wasWell = false;
  let unwellSince: number | undefined;
  let observedAt = Number.NEGATIVE_INFINITY;
  return {
    /**
     * Notes the present state. Observe often: a time of which nothing is known does not count.
     * @param now a monotonic clock in ms.
     */
    observe(isWell: boolean, now: number): void {
      const isKnownSince = now - observedAt <= MAX_GAP_MS;
      observedAt = now;
      wasWell ||= isWell;
      if (isWell) unwellSince = undefined;
      else unwellSince = isKnownSince ? (unwellSince ?? now) : now;
    },
    /** Whether the part counts as well: it is well, or was so a moment ago. */
    get isWell() {
      return wasWell && (unwellSince === undefined || observedAt - unwellSince < patienceMs);
    },
    /** The part is unwell, and will not become well by itself. */
    end() {
      wasWell = false;
    },
  };
}
