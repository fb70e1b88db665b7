import type { Submission } from "../../model/submission.js";
import { byteaArray, prepared } from "../statements.js";
import type { Queryable } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf, toBuffer } from "../submissionRow.js";
import type { Acceptance, NewSubmission } from "./newSubmission.js";

/**
 * The answer to one new submission after the write.
 * @param accepted the lane's waiver of each accepted new submission, keyed by id.
 * @param competitors what {@link findCompetitors} found.
 * @throws {@link CompetitorGoneError}
 */
export function acceptanceOf(
  newSubmission: NewSubmission,
  accepted: ReadonlyMap<string, Uint8Array>,
  competitors: ReadonlyMap<string, Submission>,
): Acceptance {
  const waiver = accepted.get(newSubmission.id);
  if (waiver) return { kind: "accepted", waiver };
  const competitor = competitors.get(newSubmission.id);
  if (competitor === undefined) throw new CompetitorGoneError();
  // A repeated write finds what it accepted the first time.
  if (competitor.id === newSubmission.id) return { kind: "accepted", waiver: newSubmission.waiver };
  if (toBuffer(competitor.innerHash).equals(newSubmission.innerHash))
    return { kind: "known", submission: competitor };
  return { kind: "conflict", with: competitor };
}

/** The competitor of a new submission failed between the write and its lookup. The caller accepts again. */
export class CompetitorGoneError extends Error {
  override readonly name = "CompetitorGoneError";
}

/**
 * Finds the submission that has the sender and nonce of a new submission, or its id. Keyed by the new submission's id.
 */
export async function findCompetitors(
  { pool }: { readonly pool: Queryable },
  chain: number,
  newSubmissions: readonly NewSubmission[],
): Promise<Map<string, Submission>> {
  if (newSubmissions.length === 0) return new Map();
  const { rows } = await pool.query<SubmissionRow & { requested_id: string }>(
    prepared(
      `select a.id as requested_id, ${SUBMISSION_COLUMNS.replaceAll(/\b(\w+)/g, "s.$1")}
       from unnest($2::uuid[], $3::bytea[], $4::numeric[]) as a (id, sender, nonce)
       cross join lateral (
         select id from unfinished where chain = $1 and sender = a.sender and sender_nonce = a.nonce
         union all
         select id from finished
         where chain = $1 and sender = a.sender and sender_nonce = a.nonce and state = 'included'
         union all
         select id from finished where id = a.id
         limit 1
       ) r join submissions s on s.id = r.id`,
      [
        chain,
        newSubmissions.map(({ id }) => id),
        byteaArray(newSubmissions.map(({ sender }) => sender)),
        newSubmissions.map(({ senderNonce }) => senderNonce.toString()),
      ],
    ),
  );
  return new Map(rows.map((row) => [row.requested_id, submissionOf(row)]));
}
