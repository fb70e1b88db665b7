import { AS_FAILED, finishing } from "./finish.js";
import { IS_HELD, type Lane, type Moved, writeAsOwner } from "./lease.js";
import { prepared } from "./parameters.js";
import { toBuffer } from "./rows.js";
import type { Store } from "./Store.js";

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
  readonly place: number;
  /** How long ago it was accepted, by the database's clock. */
  readonly ageMs: number;
}

/** Only submissions without a waiver nonce are in the index of the queue. */
const IN_QUEUE = "s.chain = $1 and s.waiver = $2 and s.waiver_nonce is null and s.state = 'queued'";

const NEXT_QUEUED = `with recursive keys as (
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
    select distinct sender from chosen
  )
  select s.id, s.inner_raw, s.inner_hash, s.sender, s.sender_nonce, s.signings,
         extract(epoch from now() - s.accepted_at) * 1000 as age_ms,
         -- A nonce is needed as soon as any that follows it.
         min(c.turn) over (partition by s.sender order by s.sender_nonce desc) as turn
  from senders
  -- By the index of the senders: the queue's is not for this, and the condition of neither says that it could be.
  cross join lateral (
    select * from unfinished u
    where u.chain = $1 and u.sender = senders.sender and u.waiver = $2 and u.state = 'queued' offset 0
  ) s
  left join chosen c on c.id = s.id
  order by turn nulls last, s.sender, s.sender_nonce limit 2 * $3`;

/**
 * What a lane is to look at next, at most `limit`: the API keys take turns, each with its oldest submissions
 * whose time has come, so that one key's flood does not delay another's single transaction. With each comes
 * whatever else its sender has queued. By sender, in the order of the senders' nonces.
 */
export async function nextQueued({ pool }: Store, lane: Lane, limit: number): Promise<QueuedSubmission[][]> {
  const { rows } = await pool.query<QueuedRow>(
    prepared(NEXT_QUEUED, [lane.chain, toBuffer(lane.waiver), limit]),
  );
  const bySender = new Map<string, QueuedSubmission[]>();
  rows.forEach((row, place) => {
    const sender = row.sender.toString("hex");
    const queued = bySender.get(sender) ?? [];
    queued.push(queuedOf(row, place));
    bySender.set(sender, queued);
  });
  return [...bySender.values()];
}

interface QueuedRow {
  id: string;
  inner_raw: Buffer;
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
  signings: number;
  age_ms: string;
}

function queuedOf(row: QueuedRow, place: number): QueuedSubmission {
  const { id, inner_raw: innerRaw, inner_hash: innerHash, sender, sender_nonce, signings, age_ms } = row;
  return {
    id,
    innerRaw,
    innerHash,
    sender,
    senderNonce: BigInt(sender_nonce),
    signings,
    place,
    ageMs: Number(age_ms),
  };
}

/** Looks at these again after `afterMs`, not before. */
export function postpone(
  store: Store,
  lane: Lane,
  ids: readonly string[],
  afterMs: number,
): Promise<Moved[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    ` update unfinished set look_at = now() + $6 * interval '1 millisecond'
     where id = any($5::uuid[]) and state = 'queued' and ${IS_HELD} returning id, origin`,
    [afterMs],
  );
}

/** A queued submission that has waited too long. */
export interface Overdue {
  readonly id: string;
  readonly innerHash: Uint8Array;
  /** It was accepted after the moment that was asked for. */
  readonly recent: boolean;
}

/** What has waited longer than `maxQueueMs`, oldest first, at most `limit`. */
export async function overdueQueued(
  { pool }: Store,
  chain: number,
  { maxQueueMs, since, limit }: { readonly maxQueueMs: number; readonly since: Date; readonly limit: number },
): Promise<Overdue[]> {
  const { rows } = await pool.query<{ id: string; inner_hash: Buffer; recent: boolean }>(
    `select id, inner_hash, accepted_at >= $3 as recent from unfinished
     where chain = $1 and waiver_nonce is null and state = 'queued' and accepted_at < now() - $2::float8 * interval '1 millisecond'
     order by accepted_at limit $4`,
    [chain, maxQueueMs, since, limit],
  );
  return rows.map(({ id, inner_hash: innerHash, recent }) => ({ id, innerHash, recent }));
}

/** Ends these without a broadcast, where they are still queued (a final TIMEOUT); returns what it ended. */
export async function expireQueued(
  { pool }: Store,
  ids: readonly string[],
  maxQueueMs: number,
): Promise<(Moved & { message: string })[]> {
  if (ids.length === 0) return [];
  const { rows } = await pool.query<Moved & { message: string }>(EXPIRED, [ids, maxQueueMs]);
  return rows;
}

const EXPIRED = `with given as (select $2::float8 as max_queue_ms)${finishing(
  "using given where s.id = any($1::uuid[]) and s.state = 'queued' returning s.*, given.max_queue_ms",
  {
    ...AS_FAILED,
    error_reason: "'NOT_BROADCAST'",
    error_message: "'it waited for a broadcast longer than ' || max_queue_ms::text || ' ms and was given up'",
  },
)}`;

/** The database's clock. */
export async function storeNow({ pool }: Store): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>("select now() as now");
  return rows[0]?.now ?? new Date(0);
}
