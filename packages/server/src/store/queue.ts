import { type Lane, writeAsOwner } from "./lease.js";
import { toBuffer } from "./rows.js";
import type { Store } from "./Store.js";

/** What the lane needs to know of a submission that waits for its turn. */
export interface QueuedSubmission {
  readonly id: string;
  readonly innerRaw: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** How long ago it was accepted, by the database's clock. */
  readonly ageMs: number;
}

/**
 * The oldest submissions whose time to be looked at has come, at most `limit`, and with them whatever else their
 * senders have queued: by sender, in the order of the senders' nonces.
 */
export async function nextQueued(
  { pool }: Store,
  chain: number,
  limit: number,
): Promise<QueuedSubmission[][]> {
  const { rows } = await pool.query<QueuedRow>(
    `with oldest as (
       select sender from submissions
       where chain = $1 and state = 'queued' and look_at <= now() order by id limit $2
     )
     select id, inner_raw, sender, sender_nonce, extract(epoch from now() - accepted_at) * 1000 as age_ms
     from submissions where chain = $1 and state = 'queued' and sender in (select sender from oldest)
     order by sender, sender_nonce limit $3`,
    [chain, limit, 2 * limit],
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
  sender: Buffer;
  sender_nonce: string;
  age_ms: string;
}

function queuedOf(row: QueuedRow): QueuedSubmission {
  const { id, inner_raw: innerRaw, sender, sender_nonce, age_ms } = row;
  return { id, innerRaw, sender, senderNonce: BigInt(sender_nonce), ageMs: Number(age_ms) };
}

/** The nonces of these senders' submissions that are signed or broadcast, by the sender's address in hex. */
export async function noncesUnderWay(
  { pool }: Store,
  chain: number,
  senders: readonly Uint8Array[],
): Promise<Map<string, Set<bigint>>> {
  const { rows } = await pool.query<{ sender: Buffer; nonces: string[] }>(
    `select sender, array_agg(sender_nonce::text) as nonces from submissions
     where chain = $1 and sender = any($2::bytea[]) and state in ('signed', 'broadcast') group by sender`,
    [chain, senders.map(toBuffer)],
  );
  return new Map(rows.map(({ sender, nonces }) => [sender.toString("hex"), new Set(nonces.map(BigInt))]));
}

/** Looks at these again after `afterMs`, not before. */
export function postpone(
  store: Store,
  lane: Lane,
  ids: readonly string[],
  afterMs: number,
): Promise<string[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    `update submissions set look_at = now() + $6 * interval '1 millisecond'
     where id = any($5::uuid[]) and state = 'queued'`,
    [afterMs],
  );
}

/** How much waits for a broadcast: of everybody, and of one key (D22). */
export async function queueLength(
  { pool }: Store,
  chain: number,
  keyId: string,
): Promise<{ all: number; ofKey: number }> {
  const { rows } = await pool.query<{ all: string; of_key: string }>(
    `select count(*) as all, count(*) filter (where key_id = $2) as of_key
     from submissions where chain = $1 and state = 'queued'`,
    [chain, keyId],
  );
  return { all: Number(rows[0]?.all ?? 0), ofKey: Number(rows[0]?.of_key ?? 0) };
}
