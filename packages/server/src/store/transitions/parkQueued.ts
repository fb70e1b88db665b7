import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { releasedCap } from "./postponeQueued.js";

/** A sender, by the lowest of its nonces that are ahead of their turn. */
export interface WaitingSender {
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly nonce: bigint;
}

/**
 * The longest time that a submission is parked. The lane unparks it earlier, unless its process dies. It must not be longer
 * than `LONGEST_PAUSE`, above which a snapshot assumes that the database's clock was set back.
 */
const PARKED_MS = 30_000;

const hexOf = (sender: Uint8Array) => Buffer.from(sender).toString("hex");

/**
 * Excludes the queued submissions of these senders above these nonces from the turns. One submission of each sender keeps
 * its turn, and a snapshot reads the sender's parked ones together with it. A submission whose parking time is over is
 * parked again, because it would take the turn of another sender.
 * @param isAhead they are ahead of their turn, and wait unreserved ({@link releasedCap}).
 * @throws {@link LeaseLostError}
 */
export function parkQueued(
  store: Store,
  lane: HeldLane,
  waiting: readonly WaitingSender[],
  isAhead = false,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    waiting.map(({ sender }) => hexOf(sender)),
    ` update unfinished u set is_waiting = true, look_at = now() + $7 * interval '1 millisecond',
       cap_day = ${releasedCap("$8")}
     from unnest($5::text[], $6::numeric[]) as w (sender, nonce)
     where u.chain = $1 and u.sender = decode(w.sender, 'hex') and u.waiver = $2 and u.sender_nonce > w.nonce
       and u.state = 'queued' and ${LEASE_IS_HELD}
       and (not u.is_waiting or u.look_at <= now() or ($8 and u.signings = 0 and u.cap_day is not null))
     returning u.id, u.origin`,
    [waiting.map(({ nonce }) => nonce.toString()), PARKED_MS, isAhead],
  );
}

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
    senders.map(hexOf),
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
