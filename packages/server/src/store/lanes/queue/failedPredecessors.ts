import { prepared } from "../../database/statements.js";
import type { Store } from "../../store.js";

/** A queued submission, and the nonce of its sender that is missing before it. */
export interface MissingNonce {
  readonly id: string;
  readonly missing: bigint;
}

/**
 * Finds the failed submissions that had the missing nonces, for the same API key and sender: the last one for each.
 * @returns their ids, by the ids of the submissions that wait.
 */
export async function findFailedPredecessors(
  { pool }: Store,
  gaps: readonly MissingNonce[],
): Promise<ReadonlyMap<string, string>> {
  const parameters = [gaps.map(({ id }) => id), gaps.map(({ missing }) => missing.toString())];
  const { rows } = await pool.query<{ id: string; failed: string }>(
    prepared(FAILED_PREDECESSORS, parameters),
  );
  return new Map(rows.map(({ id, failed }) => [id, failed]));
}

const FAILED_PREDECESSORS = `select distinct on (u.id) u.id, f.id as failed
  from unnest($1::uuid[], $2::numeric[]) as gap (id, missing) join unfinished u on u.id = gap.id
  cross join lateral (
    select f.id from finished f where f.chain = u.chain and f.key_id = u.key_id and f.sender = u.sender and f.state = 'failed'
      and f.sender_nonce = gap.missing and f.id >= recent_outcomes() offset 0
  ) f
  order by u.id, f.id desc`;
