import type { Submission } from "../../model/submission/submission.js";
import { typedRows, uuidLiteral } from "../database/statements.js";
import type { Store } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf } from "./findSubmissions.js";

// Look-ups of operators, across all API keys. Those of outcomes go along an index of each partition.

/** The newest submissions that one look-up finds at most. */
const MAX_FOUND = 20;

/** The place of a wrapper on the chain: its waiver, 20 bytes, and the waiver's nonce. */
export interface WrapperPlace {
  readonly waiver: Uint8Array;
  readonly nonce: bigint;
}

/** A submission with what the row has for operators alone. */
export interface FoundSubmission {
  readonly submission: Submission;
  /** The waiver of its lane, 20 bytes. */
  readonly lane: Uint8Array;
  /** The name of its own wait or the sentence of its lane; undefined if it waits for its turn and a block alone. */
  readonly wait: string | undefined;
  /** The words of the node that last did not take a wrapper of it. */
  readonly nodeSaid: string | undefined;
}

/** Finds submissions by the hash of their transaction, or of a wrapper that is theirs now or may still land. */
export async function findByHash(
  store: Pick<Store, "pool">,
  chain: number,
  hash: Uint8Array,
): Promise<FoundSubmission[]> {
  return await foundOf(
    store,
    `select id from unfinished where chain = $1 and (inner_hash = $2 or wrapper_hash = $2 or carrier_hash = $2)
     union select open_for from withdrawn where chain = $1 and wrapper_hash = $2 and open_for is not null
     union select id from finished where inner_hash = $2 and state = 'included' and chain = $1
     union select id from finished where chain = $1 and inner_hash = $2 and state = 'failed'`,
    [chain, hash],
  );
}

/** Finds the submission that a waiver's nonce carried. */
export async function findByWrapperPlace(
  store: Pick<Store, "pool">,
  chain: number,
  { waiver, nonce }: WrapperPlace,
): Promise<FoundSubmission[]> {
  return await foundOf(
    store,
    `select id from unfinished where chain = $1 and waiver = $2 and waiver_nonce = $3
     union select id from finished where chain = $1 and waiver = $2 and waiver_nonce = $3 and waiver_nonce is not null`,
    [chain, waiver, nonce.toString()],
  );
}

/** Finds the submissions of a sender: the unfinished ones, and the newest outcomes of the recent days. */
export async function findBySender(
  store: Pick<Store, "pool">,
  chain: number,
  sender: Uint8Array,
): Promise<FoundSubmission[]> {
  return await foundOf(
    store,
    `(select id from unfinished where sender = $2 and chain + 0 = $1 order by sender_nonce limit ${MAX_FOUND})
     union (select id from finished where chain = $1 and sender = $2 and state = 'included' and id >= recent_outcomes()
            order by sender_nonce desc limit ${MAX_FOUND})
     union (select id from finished where chain = $1 and sender = $2 and state = 'failed' and id >= recent_outcomes()
            order by id desc limit ${MAX_FOUND})`,
    [chain, sender],
  );
}

export async function findById(store: Pick<Store, "pool">, id: string): Promise<FoundSubmission[]> {
  return await foundOf(store, "select $1::uuid as id", [id]);
}

/** Finds the oldest submissions without a block that were accepted longer ago than this. */
export async function findStuck(
  store: Pick<Store, "pool">,
  chain: number,
  { olderThanMs, limit }: { readonly olderThanMs: number; readonly limit: number },
): Promise<FoundSubmission[]> {
  const found = await foundOf(
    store,
    `select id from unfinished
     where chain = $1 and state <> 'included' and accepted_at <= now() - $2 * interval '1 millisecond'
     order by id limit ${limit}`,
    [chain, olderThanMs],
    limit,
  );
  return found.reverse();
}

/** @param ids a query. @returns those submissions, the newest first. */
async function foundOf(
  { pool }: Pick<Store, "pool">,
  ids: string,
  values: readonly unknown[],
  limit = MAX_FOUND,
): Promise<FoundSubmission[]> {
  const { rows: found } = await pool.query<{ id: string }>({
    text: `select id from (${ids}) found order by id desc limit ${limit}`,
    values,
  });
  if (found.length === 0) return [];
  // With the ids in the text, the planner reads only the partitions of their days.
  const list = found.map(({ id }) => uuidLiteral(id)).join(", ");
  const rows = await typedRows<SubmissionRow & Pick<FoundSubmission, "nodeSaid"> & { lane?: Uint8Array }>(
    pool,
    {
      text: `select ${SUBMISSION_COLUMNS}, own.lane, own.node_said as "nodeSaid"
        from submissions left join (select id as own_id, waiver as lane, node_said from unfinished) own on own_id = id
        where id in (${list}) order by id desc`,
    },
  );
  return rows.map(({ lane, nodeSaid, ...row }) => ({
    ...{ submission: submissionOf(row), lane: lane ?? row.waiver ?? new Uint8Array(20) },
    ...{ wait: row.wait, nodeSaid },
  }));
}
