import type { Submission } from "../../model/submission.js";
import { byteaArray, prepared } from "../statements.js";
import type { Queryable } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf, toBuffer } from "../submissionRow.js";
import type { Acceptance, Applicant } from "./applicant.js";

/** @param accepted the lanes of what was accepted, by id. */
export function acceptanceOf(
  applicant: Applicant,
  accepted: ReadonlyMap<string, Uint8Array>,
  rivals: ReadonlyMap<string, Submission>,
): Acceptance {
  const waiver = accepted.get(applicant.id);
  if (waiver) return { kind: "accepted", waiver };
  const rival = rivals.get(applicant.id);
  // The one that stood in the way has failed in between: for the caller that is a passing conflict.
  if (rival === undefined) throw new CompetitorGoneError();
  // A write that is done again finds what it took the first time.
  if (rival.id === applicant.id) return { kind: "accepted", waiver: applicant.waiver };
  if (toBuffer(rival.innerHash).equals(applicant.innerHash)) return { kind: "known", submission: rival };
  return { kind: "conflict", with: rival };
}

/** What refused an applicant ended before it could be read: accept again. */
export class CompetitorGoneError extends Error {
  override readonly name = "RivalGoneError";
}

/** For each applicant that was not taken, the submission that has its sender's nonce, or its id already. */
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
