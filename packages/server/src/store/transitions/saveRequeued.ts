import { byteaArray } from "../database/statements.js";
import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { withdrawing } from "./withdrawStatement.js";

/** Without `wrapperHashes`, `n.hash` is null, and each submission matches with any wrapper. */
const CONCERNED = `select n.submission from unnest($5::uuid[], $8::bytea[]) as n (submission, hash)
  join unfinished present on present.id = n.submission and (n.hash is null or present.wrapper_hash = n.hash)`;
const REQUEUED = withdrawing(CONCERNED, "$7::boolean");

/** The pause after the first strike, and the longest one, in ms. A pause that is longer counts as over (`laneSnapshot.ts`). */
const MIN_STRUCK_MS = 10_000;
const MAX_STRUCK_MS = 29_000;

export interface RequeueOptions {
  /** The time that the lane leaves them in the queue before it signs them again. */
  readonly afterMs: number;
  /** Their wrappers may still land. False if no node took them, or their nonces are used by other transactions. */
  readonly isOpen: boolean;
  /** Blocks have left out their wrappers, or show them as failed. Their pause is longer, and doubles with each such wrapper. */
  readonly isStruck?: boolean;
  /** The wrappers to withdraw, in the order of the ids. A submission that has another wrapper by now stays as it is. */
  readonly wrapperHashes?: readonly Uint8Array[];
  /** The words of the node that did not take a submission, by its id, for operators. */
  readonly nodeSaid?: ReadonlyMap<string, string>;
}

/** Longer words of a node are cut. */
const MAX_WORDS = 500;

/**
 * signed or broadcast → queued, in the first place where there is no pause. Their waiver nonces go to other wrappers.
 * @throws {@link LeaseLostError}
 */
export function saveRequeued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  { afterMs, isOpen, isStruck = false, wrapperHashes = [], nodeSaid = new Map() }: RequeueOptions,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    `${REQUEUED}
     update unfinished
     set state = 'queued', waiver_nonce = null, wrapper_hash = null, wrapper_raw = null, signed_at = null,
         broadcast_at = null, is_waiting = $6 > 0, strikes = strikes + $9,
         node_said = coalesce(($11::text[])[array_position($5::uuid[], id)], node_said),
         look_at = case when $6 = 0 then coalesce($10, now()) else now() + interval '1 millisecond' *
           case when $9 = 0 then $6 else least(${MAX_STRUCK_MS}, ${MIN_STRUCK_MS} * 2 ^ least(strikes, 10)) end end
     where id in (${CONCERNED}) and state in ('signed', 'broadcast') and ${LEASE_IS_HELD} returning id, origin`,
    [
      ...[afterMs, isOpen, byteaArray(wrapperHashes), isStruck ? 1 : 0, store.laneFloors.headOf(lane.waiver)],
      ids.map((id) => nodeSaid.get(id)?.replaceAll("\0", "").slice(0, MAX_WORDS)),
    ],
  );
}
