import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { WITHDRAWN } from "./withdrawStatement.js";

/**
 * signed or broadcast → queued: for submissions whose wrappers surely will not land. Their waiver nonces are free again.
 * @param afterMs how long the lane leaves them in the queue before it signs them again.
 * @throws {@link LeaseLostError}
 */
export function saveRequeued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  afterMs: number,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    `${WITHDRAWN}
     update unfinished
     set state = 'queued', waiver_nonce = null, wrapper_hash = null, wrapper_raw = null, signed_at = null,
         broadcast_at = null, look_at = now() + $6 * interval '1 millisecond'
     where id = any($5::uuid[]) and state in ('signed', 'broadcast') and ${LEASE_IS_HELD} returning id, origin`,
    [afterMs],
  );
}
