import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";

/** The submissions of a sender whose pauses end with that of the one before them: as many as a step signs. */
const WITH_NEXT = 200;

/**
 * Gives the lowest queued nonce of each of these senders the first place of the queue, in whichever lane it waits. A snapshot reads
 * the others with it. A pause of one that was signed before ends as well: it can have had no turn of its own before the
 * nonces below. What blocks have left out keeps its pause.
 * @throws {@link LeaseLostError}
 */
export function unparkNext(
  store: Store,
  lane: HeldLane,
  senders: readonly Uint8Array[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    senders.map((sender) => Buffer.from(sender).toString("hex")),
    `, next as materialized (
       select lowest.* from unnest($5::text[]) as s (sender) cross join lateral (
         select u.id, u.sender, u.sender_nonce, u.waiver, u.is_waiting, u.strikes from unfinished u
         where u.chain = $1 and u.sender = decode(s.sender, 'hex') and u.state = 'queued'
         order by u.sender_nonce limit 1
       ) lowest where lowest.is_waiting and lowest.strikes = 0
     )
     update unfinished u set is_waiting = u.id <> next.id,
       look_at = case when u.id = next.id and u.waiver = $2 then coalesce($6, now()) else now() end
     from next
     where u.chain = $1 and u.sender = next.sender and u.state = 'queued' and u.waiver = next.waiver
       and u.sender_nonce >= next.sender_nonce and u.sender_nonce < next.sender_nonce + ${WITH_NEXT}
       and (u.id = next.id or (u.signings > 0 and u.strikes = 0 and u.is_waiting and u.look_at > now()))
       and ${LEASE_IS_HELD}
     returning u.id, u.origin`,
    [store.laneFloors.headOf(lane.waiver)],
  );
}
