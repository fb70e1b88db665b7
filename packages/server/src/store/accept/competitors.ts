import type { Submission } from "../../model/submission.js";
import { byteaArray, prepared } from "../statements.js";
import type { Queryable } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf, toBuffer } from "../submissionRow.js";
import type { Acceptance, Applicant } from "./applicant.js";

/**
 * The answer to one applicant after the write.
 * @param accepted the lane's waiver of each accepted applicant, keyed by id.
 * @param competitors what {@link findCompetitors} found.
 * @throws {@link CompetitorGoneError}
 */
export function acceptanceOf(
  applicant: Applicant,
  accepted: ReadonlyMap<string, Uint8Array>,
  competitors: ReadonlyMap<string, Submission>,
): Acceptance {
  const waiver = accepted.get(applicant.id);
  if (waiver) return { kind: "accepted", waiver };
  const competitor = competitors.get(applicant.id);
  if (competitor === undefined) throw new CompetitorGoneError();
  // A repeated write finds what it accepted the first time.
  if (competitor.id === applicant.id) return { kind: "accepted", waiver: applicant.waiver };
  if (toBuffer(competitor.innerHash).equals(applicant.innerHash))
    return { kind: "known", submission: competitor };
  return { kind: "conflict", with: competitor };
}

/** The competitor of an applicant failed between the write and its lookup. The caller accepts again. */
export class CompetitorGoneError extends Error {
  override readonly name = "RivalGoneError";
}

/** Finds the submission that holds the nonce of an applicant's sender, or its id. Keyed by the applicant's id. */
export async function findCompetitors(
  { pool }: { readonly pool: Queryable },
  chain: number,
  applicants: readonly Applicant[],
): Promise<Map<string, Submission>> {
  if (applicants.length === 0) return new Map();
  const { rows } = await pool.query<SubmissionRow & { applicant: string }>(
    prepared(
      `select a.id as applicant, ${SUBMISSION_COLUMNS.replaceAll(/\b(\w+)/g, "s.$1")}
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
        applicants.map((a) => a.id),
        byteaArray(applicants.map((a) => a.sender)),
        applicants.map((a) => a.senderNonce.toString()),
      ],
    ),
  );
  return new Map(rows.map((row) => [row.applicant, submissionOf(row)]));
}
