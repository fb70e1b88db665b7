import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";

/**
 * included → broadcast: a reorg removed the block, and the wrapper can land again. included → queued, in the first place, if
 * another wrapper than the stored one carried the InnerTx.
 * @throws {@link LeaseLostError}
 */
export function saveReorged(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    ` update unfinished
     set state = case when waiver_nonce is null then 'queued' else 'broadcast' end::submission_state,
         block_number = null, block_hash = null, gas_used = null, reverted = null,
         error_details = null,
         carrier_waiver = null, carrier_nonce = null, carrier_hash = null,
         broadcast_at = case when waiver_nonce is null then null else '-infinity'::timestamptz end,
         signed_at = case when waiver_nonce is null then null else signed_at end,
         is_waiting = false, look_at = coalesce($6, now()), included_at = null
     where id = any($5::uuid[]) and state = 'included' and ${LEASE_IS_HELD} returning id, origin`,
    [store.laneFloors.headOf(lane.waiver)],
  );
}
