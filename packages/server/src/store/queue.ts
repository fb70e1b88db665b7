import { type Lane, type Moved, writeAsOwner } from "./lease.js";
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
  /** How long ago it was accepted, by the database's clock. */
  readonly ageMs: number;
}

/**
 * What a lane is to look at next, at most `limit`: the API keys take turns, each with its oldest submissions
 * whose time has come, so that one key's flood does not delay another's single transaction. With each comes
 * whatever else its sender has queued. By sender, in the order of the senders' nonces.
 */
export async function nextQueued({ pool }: Store, lane: Lane, limit: number): Promise<QueuedSubmission[][]> {
  const { rows } = await pool.query<QueuedRow>(
    `with recursive keys as (
       (select key_id from submissions where chain = $1 and waiver = $2 and state = 'queued' order by key_id limit 1)
       union all
       select (select s.key_id from submissions s
               where s.chain = $1 and s.waiver = $2 and s.state = 'queued' and s.key_id > k.key_id
               order by s.key_id limit 1)
       from keys k where k.key_id is not null
     ), turns as (
       select t.id, t.sender, row_number() over (partition by k.key_id order by t.id) as turn
       from keys k cross join lateral (
         select s.id, s.sender from submissions s
         where s.chain = $1 and s.waiver = $2 and s.state = 'queued' and s.key_id = k.key_id and s.look_at <= now()
         order by s.id limit $3
       ) t
     ), chosen as (
       select sender, min(turn) as turn, min(id::text) as id from (select * from turns order by turn, id limit $3) t
       group by sender
     )
     select s.id, s.inner_raw, s.inner_hash, s.sender, s.sender_nonce, s.signings,
            extract(epoch from now() - s.accepted_at) * 1000 as age_ms
     from chosen c join submissions s on s.chain = $1 and s.waiver = $2 and s.sender = c.sender and s.state = 'queued'
     order by c.turn, c.id, s.sender_nonce limit 2 * $3`,
    [lane.chain, toBuffer(lane.waiver), limit],
  );
  const bySender = new Map<string, QueuedSubmission[]>();
  for (const row of rows) {
    const sender = row.sender.toString("hex");
    const queued = bySender.get(sender) ?? [];
    queued.push(queuedOf(row));
    bySender.set(sender, queued);
  }
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

function queuedOf(row: QueuedRow): QueuedSubmission {
  const { id, inner_raw: innerRaw, inner_hash: innerHash, sender, sender_nonce, signings, age_ms } = row;
  return {
    id,
    innerRaw,
    innerHash,
    sender,
    senderNonce: BigInt(sender_nonce),
    signings,
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
    `update submissions set look_at = now() + $6 * interval '1 millisecond'
     where id = any($5::uuid[]) and state = 'queued'`,
    [afterMs],
  );
}

/** Ends what has waited longer than `maxQueueMs` without a broadcast (a final TIMEOUT); returns what it ended. */
export async function expireQueued(
  { pool }: Store,
  chain: number,
  maxQueueMs: number,
): Promise<(Moved & { message: string })[]> {
  const { rows } = await pool.query<Moved & { message: string }>(
    `update submissions set state = 'failed', error_reason = 'NOT_BROADCAST', finished_at = now(),
       error_message = 'it waited for a broadcast longer than ' || ($2::float8)::text || ' ms and was given up'
     where chain = $1 and state = 'queued' and accepted_at < now() - $2::float8 * interval '1 millisecond'
     returning id, origin, error_message as message`,
    [chain, maxQueueMs],
  );
  return rows;
}
