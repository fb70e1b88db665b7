import { bytesToHex } from "@gas-waiver/protocol";
import type { DatabaseClock } from "../../clock/databaseClock.js";
import { readRows } from "../../database/statements.js";
import type { Store } from "../../store.js";
import type { HeldLane } from "../heldLane.js";
import { ABOVE_FLOOR } from "../nonces/nonceFloor.js";

/** A queued submission, as a step of the lane reads it. */
export interface QueuedSubmission {
  readonly id: string;
  /** The API key under which it came. */
  readonly keyId: string;
  readonly innerRaw: Uint8Array;
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** The number of wrappers that were signed for it before. */
  readonly signings: number;
  /** The number of these that blocks have left out. */
  readonly strikes: number;
  /** Its position in the snapshot; of one sender the lower nonce comes first. */
  readonly position: number;
  /** The time since it was accepted, in ms by the database's clock. */
  readonly ageMs: number;
  /** It was signed before, and is to be left alone for a while. */
  readonly isSetAside: boolean;
  /** It waits for its sender's earlier nonce, or for the end of a pause. */
  readonly isWaiting: boolean;
  /** Its key has daily caps, and nothing of them is reserved for it: it waited for its turn. */
  readonly isUnreserved: boolean;
  /** The places in flight that its wrapper takes. */
  readonly slots: number;
}

/** A sender with queued submissions in the lane. */
export interface QueuedSender {
  /** 20 bytes. */
  readonly sender: Uint8Array;
  /** The queued submissions, at least one, in the order of their nonces. */
  readonly queued: readonly QueuedSubmission[];
  /** The sender nonces of its submissions that are signed or broadcast in the lane. */
  readonly inFlightNonces: ReadonlySet<bigint>;
  /** The places in flight that these take. */
  readonly inFlight: number;
}

/** The waiver nonces of a lane. */
export interface LaneNonces {
  /** Those that signed and broadcast submissions hold. */
  readonly assigned: { readonly count: number; readonly lowest: bigint; readonly highest: bigint };
  /** The places of those that the chain has not used yet: what the chain has passed takes none. */
  readonly inFlight: number;
  /** The waiver nonce above the highest that was seen in a block; 0 without one. */
  readonly nextAfterIncluded: bigint;
}

/** Everything that a step of the lane must know, read at one moment. */
export interface LaneSnapshot extends LaneNonces {
  /** The number of submissions that do not wait and were next. If it equals the limit, there may be more. */
  readonly ready: number;
  /** The number of further ones whose pause is over. If it equals the limit, there may be more. */
  readonly due: number;
  /**
   * The places of signed and broadcast submissions of the API keys with queued ones in `senders`; 0 while no key can have
   * nearly all of the lane's places after the step.
   */
  readonly inFlightOfKeys: ReadonlyMap<string, number>;
  /** The senders whose submissions come next. */
  readonly senders: readonly QueuedSender[];
  /** `senders` has everything that the lane has queued. */
  readonly isWhole: boolean;
}

/** The condition of the queue's index, which holds only submissions without a waiver nonce. It begins at the queue's floor. */
const IN_QUEUE =
  "s.chain = $1 and s.waiver = $2 and s.waiver_nonce is null and s.state = 'queued' and s.look_at >= $6::timestamptz";

/** A snapshot reads at least this many queued submissions of each sender, if there are as many. */
export const MIN_READ_PER_SENDER = 8;

/** No pause lasts longer. A later end means that the database's clock was set back, and is no pause any more. */
const LONGEST_PAUSE = "interval '30 seconds'";

/** A range of the queue, in its order. */
const range = (condition: string, limit: string) =>
  `(select s.id, s.sender from unfinished s where ${IN_QUEUE} and ${condition} order by s.look_at, s.id limit ${limit})`;

/**
 * Whether a key could have all its places in flight after this step. Counting them takes a third of the query's time when hundreds
 * are in flight.
 */
const IS_NEARLY_FULL = "((select in_flight_slots from assigned) >= $7::bigint - 2 * $3::bigint) is not false";

/** The senders are read by their index: the queue's would be read as a whole. So its condition does not name `waiver_nonce`. */
const SNAPSHOT = `with held_nonces as materialized (
    select sender, sender_nonce, waiver_nonce, key_id, state, slots, state <> 'included' and waiver_nonce >= $8 as is_in_flight
    from unfinished where chain = $1 and waiver = $2 and ${ABOVE_FLOOR}
  ), assigned as materialized (
    select count(*) filter (where state <> 'included')::int as assigned_count,
           coalesce(min(waiver_nonce) filter (where state <> 'included'), 0) as lowest,
           coalesce(max(waiver_nonce) filter (where state <> 'included'), 0) as highest,
           coalesce(sum(slots) filter (where is_in_flight), 0)::int as in_flight_slots,
           coalesce(greatest(max(waiver_nonce) filter (where state = 'included'),
                             highest_final_nonce($1, $2)) + 1, 0) as after_included
    from held_nonces
  ), ready as materialized (
    ${range("not s.is_waiting", "$3")}
  ), due as materialized (
    ${range("s.is_waiting and s.look_at <= now()", "$4")} union all
    ${range(`s.is_waiting and s.look_at > now() + ${LONGEST_PAUSE}`, "$4")} limit $4
  ), senders as (
    select sender from ready union select sender from due
  ), in_flight as (
    select sender, array_agg(sender_nonce::text) as nonces, sum(slots)::int as slots from held_nonces
    where state <> 'included' and sender in (select sender from senders) group by sender
  ), of_keys as (
    select key_id, sum(slots)::int as in_flight from held_nonces where is_in_flight and ${IS_NEARLY_FULL} group by key_id
  ), next as (
    select q.*,
           -- A nonce goes no later than any higher one of its sender. What waits goes after all that is ready.
           min(case when not q.is_waiting then q.look_at end) over (partition by q.sender order by q.sender_nonce desc) as place
    from senders n cross join lateral (
      select * from unfinished u where u.chain = $1 and u.sender = n.sender and u.waiver = $2 and u.state = 'queued'
      order by u.sender_nonce
      limit (select greatest(${MIN_READ_PER_SENDER}, least($5::bigint, $3 / greatest(1, count(*)))) from senders)
    ) q order by place nulls last, q.sender, q.sender_nonce limit 2 * $3
  )
  select assigned_count as "assignedCount", lowest, highest, in_flight_slots as "inFlightSlots", after_included as "afterIncluded",
         (select count(*) from ready)::int as ready, (select count(*) from due)::int as due,
         -- Looked for only as far as the rows can be all.
         exists (select from (select s.id from unfinished s where ${IN_QUEUE} limit 2 * $3 + 1) q
                 where q.id not in (select id from next)) as "hasUnread",
         next.id, next.inner_raw as "innerRaw", next.inner_hash as "innerHash", next.sender, next.sender_nonce as "senderNonce",
         next.signings, next.strikes, next.slots, next.key_id as "keyId", next.accepted_at as "acceptedAt",
         (extract(epoch from now() - next.accepted_at) * 1000)::float8 as "ageMs", next.is_waiting as "isWaiting",
         -- It was signed before, and its pause is not over.
         next.signings > 0 and next.is_waiting and next.look_at > now() and next.look_at <= now() + ${LONGEST_PAUSE}
           as "isSetAside",
         next.cap_gas is not null and next.cap_day is null as "isUnreserved",
         -- Of each sender once: a long row of one would repeat hundreds of nonces.
         case when row_number() over (partition by next.sender order by next.place nulls last, next.sender_nonce) = 1
              then in_flight.nonces end as "nonces", coalesce(in_flight.slots, 0) as "inFlightOfSender",
         coalesce(of_keys.in_flight, 0) as "inFlightOfKey"
  from assigned left join next on true left join in_flight on in_flight.sender = next.sender
    left join of_keys on of_keys.key_id = next.key_id
  order by next.place nulls last, next.sender, next.sender_nonce`;

/** The nonces of the lane stand in each row. */
interface SnapshotRow {
  readonly assignedCount: number;
  readonly lowest: bigint;
  readonly highest: bigint;
  readonly inFlightSlots: number;
  readonly afterIncluded: bigint;
  readonly ready: number;
  readonly due: number;
  /** The queue has submissions that the snapshot does not have. */
  readonly hasUnread: boolean;
  /** Undefined where nothing is queued. */
  readonly id?: string;
}

/** A row with a queued submission, whose position and age are still to be set. */
interface QueuedRow extends SnapshotRow, QueuedSubmission {
  readonly id: string;
  position: number;
  ageMs: number;
  readonly acceptedAt: Date;
  /** The nonces that the sender has in flight, at least in its first row. */
  readonly nonces?: readonly string[];
  readonly inFlightOfSender: number;
  readonly inFlightOfKey: number;
}

export interface SnapshotLimits {
  /** The number of submissions that do not wait; with those of the same senders, at most twice as many. */
  readonly ready: number;
  /** The number of further submissions, of those whose pause is over. */
  readonly due: number;
  /** The most submissions of one sender, or {@link MIN_READ_PER_SENDER} if that is more. Default: all that find room. */
  readonly ofSender?: number;
  /** More than half of the lane's places in flight: those of a key are counted where it could have so many. Default: always. */
  readonly placesOfSender?: number;
  /** Nothing in the queue comes before this time, by {@link LaneFloors}. Default: no time. */
  readonly queueFloor?: Date | undefined;
  /** The waiver's next nonce as the chain last told it: submissions below are not in flight any more. Default: 0. */
  readonly waiverNonce?: bigint;
}

/**
 * Reads the next queued submissions of the lane, in the order of their places, and its waiver nonces. It is one query, because a
 * step waits for it, and because its parts must agree. With each submission come the other queued submissions of its sender, the
 * lowest nonces first. What waits has no place.
 */
export async function readLaneSnapshot(
  { pool, clock }: Store,
  lane: HeldLane,
  { ready, due, ofSender = ready, placesOfSender, queueFloor, waiverNonce = 0n }: SnapshotLimits,
): Promise<LaneSnapshot> {
  const rows = await readRows<SnapshotRow>(pool, SNAPSHOT, [
    ...[lane.chain, lane.waiver, ready, due, ofSender, queueFloor ?? "-infinity"],
    ...[placesOfSender ?? null, waiverNonce.toString()],
  ]);
  const queued = rows.filter((row): row is QueuedRow => row.id !== undefined);
  const [first] = rows;
  if (first === undefined) throw new Error("the snapshot has no row");
  return {
    ready: first.ready,
    due: first.due,
    inFlightOfKeys: new Map(queued.map((row) => [row.keyId, row.inFlightOfKey])),
    senders: sendersOf(queued, clock),
    isWhole: !first.hasUnread,
    assigned: { count: first.assignedCount, lowest: first.lowest, highest: first.highest },
    inFlight: first.inFlightSlots,
    nextAfterIncluded: first.afterIncluded,
  };
}

/** @param rows the queued submissions in the order of the snapshot; of one sender, the lower nonce comes first. */
function sendersOf(rows: readonly QueuedRow[], clock: Pick<DatabaseClock, "ageOf">): QueuedSender[] {
  const senders = new Map<string, QueuedSender & { readonly queued: QueuedSubmission[] }>();
  for (const [position, row] of rows.entries()) {
    const { sender, nonces = [], inFlightOfSender: inFlight } = row;
    const name = bytesToHex(sender);
    const found = senders.get(name) ?? {
      sender,
      queued: [],
      inFlightNonces: new Set(nonces.map(BigInt)),
      inFlight,
    };
    row.position = position;
    // The database's clock may have been set back since it was last read.
    row.ageMs = Math.min(row.ageMs, clock.ageOf(row.acceptedAt));
    found.queued.push(row);
    senders.set(name, found);
  }
  return [...senders.values()];
}
