import { FAILED_COLUMNS, finishStatement } from "./finish.js";
import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "./lease.js";
import { toBuffer } from "./rows.js";
import type { Store } from "./store.js";

/** Looks at these again after `afterMs`, not before. */
export function postponeQueued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  afterMs: number,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    ` update unfinished set look_at = now() + $6 * interval '1 millisecond'
     where id = any($5::uuid[]) and state = 'queued' and ${LEASE_IS_HELD} returning id, origin`,
    [afterMs],
  );
}

/**
 * The lowest nonces that these senders have under way and that the lane has not signed, by the sender in hex.
 * @param except ids of submissions that do not count.
 */
export async function findLowestNoncesElsewhere(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  { senders, except }: { readonly senders: readonly Uint8Array[]; readonly except: readonly string[] },
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ sender: Buffer; lowest: string }>(
    `select sender, min(sender_nonce) as lowest from unfinished
     where chain = $1 and sender = any($3::bytea[]) and state <> 'included' and id <> all($4::uuid[])
       and (waiver <> $2 or state = 'queued')
     group by sender`,
    [lane.chain, toBuffer(lane.waiver), senders.map(toBuffer), except],
  );
  return new Map(rows.map(({ sender, lowest }) => [sender.toString("hex"), BigInt(lowest)]));
}

/** Gives what is queued in the lane to another one. */
export function rerouteQueued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  waiver: Uint8Array,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    ` update unfinished set waiver = $6, look_at = now()
     where id = any($5::uuid[]) and state = 'queued' and waiver = $2 and ${LEASE_IS_HELD} returning id, origin`,
    [toBuffer(waiver)],
  );
}

/** A queued submission that has waited too long. */
export interface OverdueSubmission {
  readonly id: string;
  readonly innerHash: Uint8Array;
  /** It was accepted after the moment that was asked for. */
  readonly recent: boolean;
}

/** What has waited longer than `maxQueueMs`, oldest first, at most `limit`. */
export async function findOverdueQueued(
  { pool }: Store,
  chain: number,
  { maxQueueMs, since, limit }: { readonly maxQueueMs: number; readonly since: Date; readonly limit: number },
): Promise<OverdueSubmission[]> {
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
): Promise<(ChangedSubmission & { message: string })[]> {
  if (ids.length === 0) return [];
  const { rows } = await pool.query<ChangedSubmission & { message: string }>(EXPIRED, [ids, maxQueueMs]);
  return rows;
}

const EXPIRED = `with given as (select $2::float8 as max_queue_ms)${finishStatement(
  "using given where s.id = any($1::uuid[]) and s.state = 'queued' returning s.*, given.max_queue_ms",
  {
    ...FAILED_COLUMNS,
    error_reason: "'NOT_BROADCAST'",
    error_message: "'it waited for a broadcast longer than ' || max_queue_ms::text || ' ms and was given up'",
  },
)}`;

/** The database's clock. */
export async function databaseNow({ pool }: Store): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>("select now() as now");
  return rows[0]?.now ?? new Date(0);
}
