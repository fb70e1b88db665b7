import type { Submission } from "../../model/submission/submission.js";
import { byteaArray, prepared, readRows } from "../database/statements.js";
import type { Queryable, Store } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf } from "../submissions/findSubmissions.js";
import { HIGHEST_ID, type ListFilter, LOWEST_ID, listSubmissions } from "../submissions/listSubmissions.js";
import type { Acceptance, NewSubmission } from "./newSubmission.js";

/**
 * Lets an API key read the submission that it sent after another key (D18). The key has the signed bytes
 * itself, and the record does not name the other key.
 * @param acceptances in the order of the new submissions.
 */
export async function grantReadAccess(
  { pool }: { readonly pool: Queryable },
  newSubmissions: readonly NewSubmission[],
  acceptances: readonly Acceptance[],
): Promise<void> {
  const grants = newSubmissions.flatMap(({ keyId }, i) => {
    const acceptance = acceptances[i];
    if (acceptance?.kind !== "known" || acceptance.submission.keyId === keyId) return [];
    return [{ id: acceptance.submission.id, keyId }];
  });
  if (grants.length === 0) return;
  await pool.query(
    prepared(
      `insert into readers (submission, key_id) select * from unnest($1::uuid[], $2::text[])
       on conflict do nothing`,
      [grants.map(({ id }) => id), grants.map(({ keyId }) => keyId)],
    ),
  );
}

/**
 * Finds the finished submission of a transaction that an API key may read, by its hash: of several, which failed one after the
 * other, the newest of its own.
 */
export async function findFinishedByHash(
  store: Store,
  { chain, keyId, innerHash }: Pick<ListFilter, "chain" | "keyId"> & { readonly innerHash: Uint8Array },
): Promise<Submission | undefined> {
  const { submissions: own } = await listSubmissions(store, {
    ...{ chain, keyId, innerHash, states: ["included", "failed"], sender: undefined, onlyFinished: true },
    ...{ from: LOWEST_ID, before: HIGHEST_ID, limit: 1 },
  });
  if (own[0] !== undefined) return own[0];
  const included = await findIncluded(store, chain, [innerHash]);
  if (included.length === 0) return undefined;
  const ids = included.map(({ id }) => id);
  const readable = await findReadableSubmissions(store, keyId, ids);
  return readable.sort((one, other) => (one.id < other.id ? 1 : -1))[0];
}

/** Finds the finished submissions, of any API key, whose transactions are in blocks. */
export async function findIncluded(
  { pool }: { readonly pool: Queryable },
  chain: number,
  innerHashes: readonly Uint8Array[],
): Promise<{ readonly id: string; readonly innerHash: Uint8Array }[]> {
  // The hash alone names its outcomes, of which there are few: a plan with more conditions might begin at the key's. Each is looked up by
  // itself: the hash indexes take no array, and the whole of each day would be read.
  const { rows } = await pool.query<{ id: string; chain: number; innerHash: Buffer }>(
    prepared(
      `select f.id, f.chain, n.hash as "innerHash" from unnest($1::bytea[]) as n (hash) cross join lateral (
         select f.id, f.chain from finished f where f.inner_hash = n.hash and f.state = 'included' offset 0) f`,
      [byteaArray(innerHashes)],
    ),
  );
  return rows.filter((row) => row.chain === chain);
}

/**
 * Finds the submissions that an API key may read: its own, and those that it sent after another key. Unknown ids are
 * left out; the order is undefined.
 */
export async function findReadableSubmissions(
  { pool }: { readonly pool: Queryable },
  keyId: string,
  ids: readonly string[],
): Promise<Submission[]> {
  const rows = await readRows<SubmissionRow>(
    pool,
    `select ${SUBMISSION_COLUMNS} from submissions s
     where id = any($1::uuid[])
       and (key_id = $2 or exists (select from readers r where r.submission = s.id and r.key_id = $2))`,
    [ids, keyId],
  );
  return rows.map(submissionOf);
}
