import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { withdrawing } from "./withdrawStatement.js";

const REQUEUED = withdrawing("select unnest($5::uuid[])", "$7::boolean");

export interface RequeueOptions {
  /** How long the lane leaves them in the queue before it signs them again. */
  readonly afterMs: number;
  /** Their wrappers may still land. False if no node took them, or their nonces are used by other transactions. */
  readonly isOpen: boolean;
}

/**
 * signed or broadcast → queued. Their waiver nonces go to other wrappers.
 * @throws {@link LeaseLostError}
 */
export function saveRequeued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  { afterMs, isOpen }: RequeueOptions,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    `${REQUEUED}
     update unfinished
     set state = 'queued', waiver_nonce = null, wrapper_hash = null, wrapper_raw = null, signed_at = null,
         broadcast_at = null, look_at = now() + $6 * interval '1 millisecond'
     where id = any($5::uuid[]) and state in ('signed', 'broadcast') and ${LEASE_IS_HELD} returning id, origin`,
    [afterMs, isOpen],
  );
}
