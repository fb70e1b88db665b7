import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";

/**
 * Hides queued submissions from the lane's snapshots for `afterMs`.
 * @throws {@link LeaseLostError}
 */
export function postponeQueued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  afterMs: number,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    ` update unfinished set look_at = now() + $6 * interval '1 millisecond'
     where id = any($5::uuid[]) and state = 'queued' and ${LEASE_IS_HELD} returning id, origin`,
    [afterMs],
  );
}
