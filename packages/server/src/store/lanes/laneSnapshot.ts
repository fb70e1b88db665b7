import { prepared } from "../statements.js";
import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import type { HeldLane } from "./heldLane.js";

/** What the lane needs to know of a submission that waits for its turn. */
export interface QueuedSubmission {
  readonly id: string;
  readonly innerRaw: Uint8Array;
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** How often it was signed before. */
  readonly signings: number;
  /** Its place among all that the lane looks at: the keys' turns. Of one sender the earlier nonce comes first. */
  readonly position: number;
  /** How long ago it was accepted, by the database's clock. */
  readonly ageMs: number;
}

/** One sender with something queued in the lane. */
export interface QueuedSender {
  /** 20 bytes. */
  readonly sender: Uint8Array;
  /** In the order of the nonces; at least one. */
  readonly queued: readonly QueuedSubmission[];
  /** The sender's nonces that are signed or broadcast in the lane. */
  readonly inFlightNonces: ReadonlySet<bigint>;
}

/** What a step of the lane must know, at one moment. */
export interface LaneSnapshot {
  /** What is next. */
  readonly senders: readonly QueuedSender[];
  /** The waiver nonces that are signed or broadcast: how many, and between which. */
  readonly assigned: { readonly count: number; readonly lowest: bigint; readonly highest: bigint };
  /** The first waiver nonce above all that were seen in a block. */
  readonly nextAfterIncluded: bigint;
}

/** Only submissions without a waiver nonce are in the index of the queue. */
const IN_QUEUE = "s.chain = $1 and s.waiver = $2 and s.waiver_nonce is null and s.state = 'queued'";

/** By the index of the senders: the queue's is not for this, and no condition says that it could be. */
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
        -- Nothing is put off for a minute: then the database's clock was set back.
        and (s.look_at <= now() or s.look_at > now() + interval '1 minute')
      order by s.id limit $3
    ) t
  ), chosen as (
    select * from turns order by turn, id limit $3
  ), senders as (
    select n.sender, (select array_agg(u.sender_nonce::text) from unfinished u
                      where ${OF_SENDER} and u.state in ('signed', 'broadcast')) as under_way
    from (select distinct sender from chosen) n
  ), next as (
    select q.*, n.under_way,
           extract(epoch from now() - q.accepted_at) * 1000 as age_ms,
           -- A nonce is needed as soon as any that follows it.
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
         next.age_ms, next.under_way
  from taken left join next on true
  order by next.turn nulls last, next.sender, next.sender_nonce`;

interface SnapshotRow {
  taken: number;
  lowest: string | null;
  highest: string | null;
  after_included: string | null;
  /** Null, with all that follow, where nothing is queued. */
  id: string | null;
  inner_raw: Buffer;
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
  signings: number;
  age_ms: string;
  under_way: string[] | null;
}

/**
 * What a lane is to look at next, at most `limit`, and where it stands: in one query, because a step waits for each, and
 * one moment contradicts itself nowhere. The API keys take turns, each with its oldest submissions whose time has come,
 * so that one key's flood does not delay another's single transaction. With each comes whatever else its sender has
 * queued.
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
    const inFlightNonces = new Set((row.under_way ?? []).map(BigInt));
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
  };
}
