import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";

/**
 * Moves queued submissions of this lane to the lane of another waiver.
 * @param waiver 20 bytes.
 * @throws {@link LeaseLostError}
 */
export function rerouteQueued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  waiver: Uint8Array,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    ` update unfinished set waiver = $6, is_waiting = false, look_at = now()
     where id = any($5::uuid[]) and state = 'queued' and waiver = $2 and ${LEASE_IS_HELD} returning id, origin`,
    [toBuffer(waiver)],
  );
}
