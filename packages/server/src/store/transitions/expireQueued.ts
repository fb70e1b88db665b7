import type { ChangedSubmission } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { FAILED_COLUMNS, finishStatement } from "./finishStatement.js";

/** A submission that has been queued for longer than `maxQueueMs`. */
export interface OverdueSubmission {
  readonly id: string;
  readonly innerHash: Uint8Array;
  /** It was accepted at or after `since`. */
  readonly recent: boolean;
}

/**
 * Finds the submissions that have been queued for longer than `maxQueueMs` and of which no wrapper may still land (D28), the
 * oldest first, at most `limit`.
 * @param terms `before` is a time at least `maxQueueMs` ago, by the clock of the store ({@link DatabaseClock.before}).
 */
export async function findOverdueQueued(
  { pool }: Store,
  chain: number,
  terms: {
    readonly maxQueueMs: number;
    readonly before: Date;
    readonly since: Date;
    readonly limit: number;
  },
): Promise<OverdueSubmission[]> {
  const { rows } = await pool.query<OverdueSubmission>(
    `select id, inner_hash as "innerHash", accepted_at >= $3 as recent from unfinished
     where chain = $1 and waiver_nonce is null and state = 'queued'
       and not exists (select from withdrawn w where w.open_for = unfinished.id)
       -- The database's clock may have been set back since it was last read.
       and accepted_at < least($5::timestamptz, now() - $2::float8 * interval '1 millisecond')
     order by accepted_at limit $4`,
    [chain, terms.maxQueueMs, terms.since, terms.limit, terms.before],
  );
  return rows;
}

/**
 * queued → failed: gives up submissions of which no wrapper may still land, with the reason `NOT_BROADCAST`.
 * @returns those that were still queued without an open wrapper.
 */
export async function expireQueued(
  { pool }: Store,
  ids: readonly string[],
  maxQueueMs: number,
): Promise<(ChangedSubmission & { message: string })[]> {
  if (ids.length === 0) return [];
  const { rows } = await pool.query<ChangedSubmission & { message: string }>(EXPIRED, [ids, maxQueueMs]);
  return rows;
}

const EXPIRED = `with expiry as (select $2::float8 as max_queue_ms)${finishStatement(
  `using expiry where s.id = any($1::uuid[]) and s.state = 'queued'
   and not exists (select from withdrawn w where w.open_for = s.id) returning s.*, expiry.max_queue_ms`,
  {
    ...FAILED_COLUMNS,
    error_reason: "'NOT_BROADCAST'",
    error_message: "'it waited for a broadcast longer than ' || max_queue_ms::text || ' ms and was given up'",
  },
)}`;
