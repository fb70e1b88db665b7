import { bytesToHex } from "@gas-waiver/protocol";
import { type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";

/** A queued submission that cannot be sent now. */
export interface Waiting {
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
}

export interface PutOffOptions {
  /** The pause of the lowest of each sender, in ms. */
  readonly afterMs: number;
  /**
   * They are ahead of their turn, or their nonces are used: what was never signed holds no part of a daily cap (D25), and the lane
   * reserves before it signs. Default: no.
   */
  readonly isAhead?: boolean;
  /** Further ones, whose senders' others are not parked. */
  readonly alone?: readonly Waiting[];
}

/** The longest pause that grows with the age of a submission, in ms. */
const LONGEST_MS = 2_000;
/**
 * The longest time that a submission is parked, in ms. The lane unparks it earlier, unless its process dies. It must not be longer
 * than `LONGEST_PAUSE`, above which a snapshot assumes that the database's clock was set back.
 */
const PARKED_MS = 30_000;

/**
 * Puts queued submissions off that cannot be sent now: at the head of the queue, they would be all that steps read. The lowest of each
 * sender comes again after a pause, or after an eighth of its age if that is longer, but not after more than two seconds. The
 * sender's others are parked: a snapshot reads them with the lowest. What was parked for too long is parked again, because it would
 * take the turn of another sender.
 * @returns the number of submissions that the lane does not see for a while.
 * @throws {@link LeaseLostError}
 */
export async function putOffQueued(
  store: Store,
  lane: HeldLane,
  waiting: readonly Waiting[],
  { afterMs, isAhead = false, alone = [] }: PutOffOptions,
): Promise<number> {
  const lowest = new Map<string, bigint>();
  for (const { sender, senderNonce } of waiting) {
    const name = bytesToHex(sender);
    const known = lowest.get(name);
    if (known === undefined || senderNonce < known) lowest.set(name, senderNonce);
  }
  const single = alone
    .map(({ sender, senderNonce }) => [bytesToHex(sender), senderNonce] as const)
    .filter(([sender, nonce]) => nonce < (lowest.get(sender) ?? nonce + 1n));
  const all = [...lowest, ...single];
  const changed = await writeAsOwner(
    store,
    lane,
    all.map(([sender]) => sender.slice(2)),
    ` update unfinished u set is_waiting = true, cap_day = case when $9 and u.signings = 0 then null else u.cap_day end,
       look_at = now() + interval '1 millisecond' * case when u.sender_nonce > w.nonce then ${PARKED_MS}
         else greatest($8::float8, least(${LONGEST_MS}, extract(epoch from now() - u.accepted_at) * 1000 / 8)) end
     from unnest($5::text[], $6::numeric[], $7::boolean[]) as w (sender, nonce, is_alone)
     where u.chain = $1 and u.sender = decode(w.sender, 'hex') and u.sender_nonce >= w.nonce and u.waiver = $2
       and u.state = 'queued' and ${LEASE_IS_HELD}
       and (u.sender_nonce = w.nonce or (not w.is_alone and
            (not u.is_waiting or u.look_at <= now() or ($9 and u.signings = 0 and u.cap_day is not null))))
     returning u.id, u.origin`,
    [all.map(([, nonce]) => nonce.toString()), all.map((_, i) => i >= lowest.size), ...[afterMs, isAhead]],
  );
  return changed.length;
}
