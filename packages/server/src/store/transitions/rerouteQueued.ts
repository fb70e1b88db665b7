import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import { placeAfterMove } from "./placeAfterMove.js";

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
    ` update unfinished u set waiver = $6, is_waiting = false, look_at = ${placeAfterMove(7)}
     from (select min(look_at) as first from unfinished where id = any($5::uuid[])) moved
     where u.id = any($5::uuid[]) and u.state = 'queued' and u.waiver = $2 and ${LEASE_IS_HELD} returning u.id, u.origin`,
    [toBuffer(waiver), store.laneFloors.headOf(waiver)],
  );
}
