import type { DatabaseClock } from "../../clock/databaseClock.js";
import { prepared } from "../../database/statements.js";
import type { Store } from "../../store.js";
import { toBuffer } from "../../submissionRow.js";
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
  /** Its position in the snapshot. API keys take turns; of one sender the lower nonce comes first. */
  readonly position: number;
  /** The time since it was accepted, in ms by the database's clock. */
  readonly ageMs: number;
  /** It was signed before, and is to be left alone for a while. */
  readonly isSetAside: boolean;
  /** It waits for its sender's earlier nonce, or for the end of a pause. */
  readonly isWaiting: boolean;
}

/** A sender with queued submissions in the lane. */
export interface QueuedSender {
  /** 20 bytes. */
  readonly sender: Uint8Array;
  /** The queued submissions, at least one, in the order of their nonces. */
  readonly queued: readonly QueuedSubmission[];
  /** The sender nonces of its submissions that are signed or broadcast in the lane. */
  readonly inFlightNonces: ReadonlySet<bigint>;
}

/** Everything that a step of the lane must know, read at one moment. */
export interface LaneSnapshot {
  /** The number of chosen submissions that do not wait. */
  readonly ready: number;
  /** The limits may have left out further submissions that do not wait. */
  readonly hasMoreReady: boolean;
  /** API keys with submissions in the queue: all of them, if they are fewer than three. */
  readonly keyIds: readonly string[];
  /** The number of chosen submissions whose pause is over. If it equals the limit, there may be more. */
  readonly due: number;
  /**
   * The numbers of signed and broadcast submissions of the API keys with queued ones in `senders`; 0 while no key can have
   * nearly all of the lane's places after the step.
   */
  readonly inFlightOfKeys: ReadonlyMap<string, number>;
  /** The senders whose submissions come next. */
  readonly senders: readonly QueuedSender[];
  /** `senders` has everything that the lane has queued. */
  readonly isWhole: boolean;
  /** The waiver nonces that signed and broadcast submissions hold. */
  readonly assigned: { readonly count: number; readonly lowest: bigint; readonly highest: bigint };
  /** The number of these that the chain has not used yet: what the chain has passed takes no place in the lane. */
  readonly inFlight: number;
  /** The waiver nonce above the highest that was seen in a block; 0 without one. */
  readonly nextAfterIncluded: bigint;
}

/** The condition of the queue's index, which holds only submissions without a waiver nonce. It begins at the queue's floor. */
const IN_QUEUE =
  "s.chain = $1 and s.waiver = $2 and s.waiver_nonce is null and s.state = 'queued' and s.look_at >= $8::timestamptz";

/**
 * Reads by the index of the senders. It does not name `waiver_nonce`, so that the planner cannot choose the queue's
 * index.
 */
const OF_SENDER = "u.chain = $1 and u.sender = n.sender and u.waiver = $2";

/** A snapshot reads at least this many queued submissions of each sender, if there are as many. */
export const MIN_READ_PER_SENDER = 8;

/** A range of the queue of the API key `k`, in its order. */
const rangeOfKey = (condition: string, limit: string) => `(
      select s.id, s.sender, s.look_at from unfinished s
      where ${IN_QUEUE} and s.key_id = k.key_id and ${condition} order by s.look_at, s.id limit ${limit})`;

/**
 * Whether the places in flight of a sender or a key could be taken after this step. Counting them takes a third of the query's
 * time when hundreds are in flight.
 */
const IS_NEARLY_FULL = "((select in_flight_count from assigned) >= $7::bigint - 2 * $3::bigint) is not false";

/** Chooses submissions of all API keys in turns: the first of each key, then the second of each key, and so on. */
const inTurns = (ranges: string, limit: string) => `
    select t.id, t.sender, row_number() over (partition by k.key_id order by t.look_at, t.id) as turn
    from keys k cross join lateral (${ranges}) t order by turn, t.look_at, t.id limit ${limit}`;

/** The most ready submissions of a key's full sender that are passed over for those of the key's other senders. */
const MAX_PASSED_OVER = 10_000;

const READY = inTurns(
  `select r.* from (${rangeOfKey("not s.is_waiting", `${MAX_PASSED_OVER} + $3::bigint`)}) r
   where r.sender is distinct from (select sender from full_sender)
   order by r.look_at, r.id limit least($3::bigint, $5::bigint)`,
  "$3",
);
/** No pause lasts longer. A later end means that the database's clock was set back, and is no pause any more. */
export const LONGEST_PAUSE = "interval '30 seconds'";
const DUE = inTurns(
  `${rangeOfKey("s.is_waiting and s.look_at <= now()", "$4")} union all
   ${rangeOfKey(`s.is_waiting and s.look_at > now() + ${LONGEST_PAUSE}`, "$4")}`,
  "$4",
);

/**
 * The waiver nonces of the lane's submissions, on the parameters $1 and $2.
 * @param next the number of the parameter with the waiver's next nonce by the chain.
 */
export const heldNonces = (next: number) => `
    select sender, sender_nonce, waiver_nonce, key_id, state, state <> 'included' and waiver_nonce >= $${next} as is_in_flight
    from unfinished where chain = $1 and waiver = $2 and ${ABOVE_FLOOR}
  `;

/** The number and the ends of the nonces in `held_nonces`, and the next one above those in a block. */
export const ASSIGNED = `
    select count(*) filter (where state <> 'included')::int as assigned_count,
           min(waiver_nonce) filter (where state <> 'included') as lowest,
           max(waiver_nonce) filter (where state <> 'included') as highest,
           count(*) filter (where is_in_flight)::int as in_flight_count,
           greatest(max(waiver_nonce) filter (where state = 'included'),
                    highest_final_nonce($1, $2)) + 1 as after_included
    from held_nonces
  `;

/** It was signed before, and its pause is not over. The alias of the submission is `q`. */
export const IS_SET_ASIDE = `q.signings > 0 and q.is_waiting and q.look_at > now() and q.look_at <= now() + ${LONGEST_PAUSE}`;

const SNAPSHOT = `with recursive keys as (
    (select s.key_id from unfinished s where ${IN_QUEUE} order by s.key_id limit 1)
    union all
    select (select s.key_id from unfinished s where ${IN_QUEUE} and s.key_id > k.key_id order by s.key_id limit 1)
    from keys k where k.key_id is not null
  ), held_nonces as materialized (${heldNonces(9)}), assigned as materialized (${ASSIGNED}), full_sender as (
    select sender from held_nonces where is_in_flight and ${IS_NEARLY_FULL}
    group by sender having count(*) >= $7::bigint limit 1
  ), ready as (${READY}), due as (${DUE}), chosen as (
    -- Due submissions come after the ready ones.
    select * from ready union all select id, sender, turn + $3 from due
  ), senders as (
    select sender, min(turn) as turn from chosen group by sender
  ), of_keys as (
    select key_id, count(*)::int as in_flight from held_nonces where is_in_flight and ${IS_NEARLY_FULL}
    group by key_id
  ), in_flight as (
    select sender, array_agg(sender_nonce::text) as nonces from held_nonces
    where state <> 'included' and sender in (select sender from senders) group by sender
  ), of_senders as materialized (
    select q.*, n.turn as sender_turn
    from senders n
    cross join lateral (
      select * from unfinished u where ${OF_SENDER} and u.state = 'queued' order by u.sender_nonce
      limit (select greatest(${MIN_READ_PER_SENDER}, least($6::bigint, $3 / greatest(1, count(*)))) from senders)
    ) q
  ), next as (
    select q.*, extract(epoch from now() - q.accepted_at) * 1000 as age_ms, ${IS_SET_ASIDE} as is_set_aside,
           coalesce(
             -- A nonce comes no later than any higher nonce of its sender.
             min(c.turn) over (partition by q.sender order by q.sender_nonce desc),
             -- The chosen nonces of the sender are above those that were read.
             case when max(c.turn) over (partition by q.sender) is null then q.sender_turn end) as turn
    from of_senders q left join chosen c on c.id = q.id
    order by turn nulls last, q.sender, q.sender_nonce limit 2 * $3
  )
  select assigned.*, (select count(*) from ready)::int as ready, (select count(*) from due)::int as due,
         (select max(turn) from ready)::int as turns,
         -- Looked for only as far as the rows can be all.
         exists (select from (select s.id from unfinished s where ${IN_QUEUE} limit 2 * $3 + 1) q
                 where q.id not in (select id from next)) as has_unread,
         (select min(key_id) from keys) as first_key, (select max(key_id) from keys) as last_key,
         next.id, next.inner_raw, next.inner_hash, next.sender, next.sender_nonce, next.signings, next.strikes,
         next.age_ms, next.accepted_at, next.is_waiting,
         -- Of each sender once: a long row of one would repeat hundreds of nonces.
         case when row_number() over (partition by next.sender order by next.turn nulls last, next.sender_nonce) = 1
              then in_flight.nonces end as in_flight,
         next.key_id, coalesce(of_keys.in_flight, 0) as in_flight_of_key, next.is_set_aside
  from assigned left join next on true left join in_flight on in_flight.sender = next.sender
    left join of_keys on of_keys.key_id = next.key_id
  order by next.turn nulls last, next.sender, next.sender_nonce`;

/** The columns of {@link ASSIGNED}. */
export interface SnapshotNonces {
  assigned_count: number;
  lowest: string | null;
  highest: string | null;
  in_flight_count: number;
  after_included: string | null;
}

/** A submission of the queue. */
export interface QueuedRow {
  id: string | null;
  inner_raw: Buffer;
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
  signings: number;
  strikes: number;
  age_ms: string;
  accepted_at: Date;
  is_set_aside: boolean;
  is_waiting: boolean;
  /** The nonces that the sender has in flight, at least in its first row. */
  in_flight: string[] | null;
  key_id: string;
}

interface SnapshotRow extends QueuedRow, SnapshotNonces {
  ready: number;
  due: number;
  /** The most submissions of one key among the ready ones. */
  turns: number | null;
  /** The queue has submissions that the snapshot does not have. */
  has_unread: boolean;
  first_key: string | null;
  last_key: string | null;
  /** Null, as all columns of {@link QueuedRow}, where nothing is queued. */
  id: string | null;
  in_flight_of_key: number;
}

export interface SnapshotLimits {
  /** The number of submissions that the turns choose; with those of the same senders, at most twice as many. */
  readonly ready: number;
  /** The number of these that one API key may have. Default: all. */
  readonly readyOfKey?: number;
  /** The number of further submissions that are chosen among those whose pause is over. */
  readonly due: number;
  /** The most submissions of one sender, or {@link MIN_READ_PER_SENDER} if that is more. Default: all that find room. */
  readonly ofSender?: number;
  /**
   * More than half of the lane's places in flight. Ready submissions of a sender with so many are passed over, because
   * other senders' submissions behind could go. Default: none is passed over.
   */
  readonly placesOfSender?: number;
  /** Nothing in the queue comes before this time, by {@link LaneFloors}. Default: no time. */
  readonly queueFloor?: Date | undefined;
  /** The waiver's next nonce as the chain last told it: submissions below are not in flight any more. Default: 0. */
  readonly waiverNonce?: bigint;
}

/**
 * Reads the next queued submissions of the lane and its waiver nonces. It is one query, because a step waits for it, and
 * because its parts must agree. API keys take turns, so that a flood of one key does not delay the single transaction of
 * another. So do the senders of a key, by the places that they got when they were accepted. With each submission come the
 * other queued submissions of its sender, the lowest nonces first. A waiting submission takes no turn.
 */
export async function readLaneSnapshot(
  { pool, clock }: Store,
  lane: HeldLane,
  {
    ready,
    readyOfKey = ready,
    due,
    ofSender = ready,
    placesOfSender,
    queueFloor,
    waiverNonce = 0n,
  }: SnapshotLimits,
): Promise<LaneSnapshot> {
  const { rows } = await pool.query<SnapshotRow>(
    prepared(SNAPSHOT, [
      lane.chain,
      toBuffer(lane.waiver),
      ready,
      due,
      readyOfKey,
      ofSender,
      placesOfSender ?? null,
      queueFloor ?? "-infinity",
      waiverNonce.toString(),
    ]),
  );
  const queued = rows.filter(({ id }) => id !== null);
  const [first] = rows;
  return {
    ready: first?.ready ?? 0,
    hasMoreReady: (first?.ready ?? 0) >= ready || (first?.turns ?? 0) >= readyOfKey,
    keyIds: [first?.first_key, first?.last_key].filter((key) => typeof key === "string"),
    due: first?.due ?? 0,
    inFlightOfKeys: new Map(queued.map((row) => [row.key_id, row.in_flight_of_key])),
    senders: sendersOf(queued, clock),
    isWhole: first?.has_unread === false,
    ...snapshotNonces(first),
  };
}

/** @param row any row of the snapshot. */
export function snapshotNonces(
  row: SnapshotNonces | undefined,
): Pick<LaneSnapshot, "assigned" | "inFlight" | "nextAfterIncluded"> {
  return {
    assigned: {
      count: row?.assigned_count ?? 0,
      lowest: BigInt(row?.lowest ?? 0),
      highest: BigInt(row?.highest ?? 0),
    },
    inFlight: row?.in_flight_count ?? 0,
    nextAfterIncluded: BigInt(row?.after_included ?? 0),
  };
}

/** @param rows the queued submissions in the order of the snapshot; of one sender, the lower nonce comes first. */
export function sendersOf(rows: readonly QueuedRow[], clock: Pick<DatabaseClock, "ageOf">): QueuedSender[] {
  const senders = new Map<string, MutableSender>();
  rows.forEach((row, position) => {
    const senderHex = row.sender.toString("hex");
    const found: MutableSender = senders.get(senderHex) ?? {
      sender: row.sender,
      queued: [],
      inFlightNonces: new Set((row.in_flight ?? []).map(BigInt)),
    };
    found.queued.push(queuedOf(row, position, clock));
    senders.set(senderHex, found);
  });
  return [...senders.values()];
}

type MutableSender = QueuedSender & { readonly queued: QueuedSubmission[] };

function queuedOf(row: QueuedRow, position: number, clock: Pick<DatabaseClock, "ageOf">): QueuedSubmission {
  if (row.id === null) throw new Error("the row has no submission");
  return {
    id: row.id,
    keyId: row.key_id,
    innerRaw: row.inner_raw,
    innerHash: row.inner_hash,
    sender: row.sender,
    senderNonce: BigInt(row.sender_nonce),
    signings: row.signings,
    strikes: row.strikes,
    position,
    // The database's clock may have been set back since it was last read.
    ageMs: Math.min(Number(row.age_ms), clock.ageOf(row.accepted_at)),
    isSetAside: row.is_set_aside,
    isWaiting: row.is_waiting,
  };
}
