import { prepared } from "../statements.js";
import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import type { HeldLane } from "./heldLane.js";

/** A queued submission, as a step of the lane reads it. */
export interface QueuedSubmission {
  readonly id: string;
  readonly innerRaw: Uint8Array;
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** The number of wrappers that were signed for it before. */
  readonly signings: number;
  /** Its position in the snapshot. API keys take turns; of one sender the lower nonce comes first. */
  readonly position: number;
  /** The time since it was accepted, in ms by the database's clock. */
  readonly ageMs: number;
  /** It was signed before, and is to be left alone for a while. */
  readonly isSetAside: boolean;
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
  /** The senders whose submissions come next. */
  readonly senders: readonly QueuedSender[];
  /** The waiver nonces that signed and broadcast submissions hold. */
  readonly assigned: { readonly count: number; readonly lowest: bigint; readonly highest: bigint };
  /** The waiver nonce above the highest that was seen in a block; 0 without one. */
  readonly nextAfterIncluded: bigint;
}

/** The condition of the queue's index, which holds only submissions without a waiver nonce. */
const IN_QUEUE = "s.chain = $1 and s.waiver = $2 and s.waiver_nonce is null and s.state = 'queued'";

/**
 * Reads by the index of the senders. It does not name `waiver_nonce`, so that the planner cannot choose the queue's
 * index.
 */
const OF_SENDER = "u.chain = $1 and u.sender = n.sender and u.waiver = $2";

const SNAPSHOT = `with recursive keys as (
    (select s.key_id from unfinished s where ${IN_QUEUE} order by s.key_id limit 1)
    union all
    select (select s.key_id from unfinished s where ${IN_QUEUE} and s.key_id > k.key_id order by s.key_id limit 1)
    from keys k where k.key_id is not null
  ), turns as (
    select t.id, t.sender, row_number() over (partition by k.key_id order by t.id) as turn
    from keys k cross join lateral (
      select s.id, s.sender from unfinished s
      where ${IN_QUEUE} and s.key_id = k.key_id
        -- No postponement lasts a minute: a later time means that the database's clock was set back.
        and (s.look_at <= now() or s.look_at > now() + interval '1 minute')
      order by s.id limit $3
    ) t
  ), chosen as (
    select * from turns order by turn, id limit $3
  ), senders as (
    select n.sender, (select array_agg(u.sender_nonce::text) from unfinished u
                      where ${OF_SENDER} and u.state in ('signed', 'broadcast')) as in_flight
    from (select distinct sender from chosen) n
  ), next as (
    select q.*, n.in_flight,
           extract(epoch from now() - q.accepted_at) * 1000 as age_ms,
           -- A nonce is due as soon as any higher nonce of its sender.
           min(c.turn) over (partition by q.sender order by q.sender_nonce desc) as turn
    from senders n
    cross join lateral (select * from unfinished u where ${OF_SENDER} and u.state = 'queued' offset 0) q
    left join chosen c on c.id = q.id
    order by turn nulls last, q.sender, q.sender_nonce limit 2 * $3
  ), taken as (
    select count(*) filter (where state <> 'included')::int as taken,
           min(waiver_nonce) filter (where state <> 'included') as lowest,
           max(waiver_nonce) filter (where state <> 'included') as highest,
           greatest(max(waiver_nonce) filter (where state = 'included'),
                    (select waiver_nonce from finished
                     where chain = $1 and waiver = $2 and waiver_nonce is not null
                     order by waiver_nonce desc limit 1)) + 1 as after_included
    from unfinished where chain = $1 and waiver = $2 and waiver_nonce is not null
  )
  select taken.*, next.id, next.inner_raw, next.inner_hash, next.sender, next.sender_nonce, next.signings,
         next.age_ms, next.in_flight,
         next.signings > 0 and next.look_at > now() and next.look_at <= now() + interval '1 minute' as is_set_aside
  from taken left join next on true
  order by next.turn nulls last, next.sender, next.sender_nonce`;

interface SnapshotRow {
  taken: number;
  lowest: string | null;
  highest: string | null;
  after_included: string | null;
  /** Null, as all columns below, where nothing is queued. */
  id: string | null;
  inner_raw: Buffer;
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
  signings: number;
  age_ms: string;
  is_set_aside: boolean;
  in_flight: string[] | null;
}

/**
 * Reads the next queued submissions of the lane and its waiver nonces. It is one query, because a step waits for it, and
 * because its parts must agree. API keys take turns, each with its oldest submissions that are not postponed, so that a
 * flood of one key does not delay the single transaction of another. With each submission come the other queued
 * submissions of its sender.
 * @param limit the number of submissions that the turns choose; with those of the same senders, at most twice as many.
 */
export async function readLaneSnapshot(
  { pool }: Store,
  lane: HeldLane,
  limit: number,
): Promise<LaneSnapshot> {
  const { rows } = await pool.query<SnapshotRow>(
    prepared(SNAPSHOT, [lane.chain, toBuffer(lane.waiver), limit]),
  );
  const senders = new Map<string, Found>();
  rows.forEach((row, place) => {
    if (row.id === null) return;
    const name = row.sender.toString("hex");
    const inFlightNonces = new Set((row.in_flight ?? []).map(BigInt));
    const one: Found = senders.get(name) ?? { sender: row.sender, queued: [], inFlightNonces };
    one.queued.push(queuedOf(row.id, row, place));
    senders.set(name, one);
  });
  const [first] = rows;
  return {
    senders: [...senders.values()],
    assigned: {
      count: first?.taken ?? 0,
      lowest: BigInt(first?.lowest ?? 0),
      highest: BigInt(first?.highest ?? 0),
    },
    nextAfterIncluded: BigInt(first?.after_included ?? 0),
  };
}

type Found = QueuedSender & { readonly queued: QueuedSubmission[] };

function queuedOf(id: string, row: SnapshotRow, position: number): QueuedSubmission {
  return {
    id,
    innerRaw: row.inner_raw,
    innerHash: row.inner_hash,
    sender: row.sender,
    senderNonce: BigInt(row.sender_nonce),
    signings: row.signings,
    position,
    ageMs: Number(row.age_ms),
    isSetAside: row.is_set_aside,
  };
}
