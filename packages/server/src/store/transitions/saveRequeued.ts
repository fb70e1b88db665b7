import { byteaArray } from "../database/statements.js";
import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { withdrawing } from "./withdrawStatement.js";

/** Without `wrapperHashes`, `n.hash` is null, and each submission matches with any wrapper. */
const CONCERNED = `select n.submission from unnest($5::uuid[], $8::bytea[]) as n (submission, hash)
  join unfinished present on present.id = n.submission and (n.hash is null or present.wrapper_hash = n.hash)`;
const REQUEUED = withdrawing(CONCERNED, "$7::boolean");

export interface RequeueOptions {
  /** The time that the lane leaves them in the queue before it signs them again. */
  readonly afterMs: number;
  /** Their wrappers may still land. False if no node took them, or their nonces are used by other transactions. */
  readonly isOpen: boolean;
  /** The wrappers to withdraw, in the order of the ids. A submission that has another wrapper by now stays as it is. */
  readonly wrapperHashes?: readonly Uint8Array[];
}

/**
 * signed or broadcast → queued. Their waiver nonces go to other wrappers.
 * @throws {@link LeaseLostError}
 */
export function saveRequeued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  { afterMs, isOpen, wrapperHashes = [] }: RequeueOptions,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    `${REQUEUED}
     update unfinished
     set state = 'queued', waiver_nonce = null, wrapper_hash = null, wrapper_raw = null, signed_at = null,
         broadcast_at = null, is_waiting = $6 > 0, look_at = now() + $6 * interval '1 millisecond'
     where id in (${CONCERNED}) and state in ('signed', 'broadcast') and ${LEASE_IS_HELD} returning id, origin`,
    [afterMs, isOpen, byteaArray(wrapperHashes)],
  );
}
