import type { Submission } from "../../model/submission.js";
import { prepared } from "../statements.js";
import type { Queryable } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf } from "../submissionRow.js";
import type { Acceptance, Applicant } from "./applicant.js";

/**
 * Whoever sends an InnerTx that another key has submitted gets the same submission (D18), and so may ask for it: it has
 * the signed bytes, and learns nothing that the chain does not tell everybody.
 * @param acceptances of the applicants, in their order.
 */
export async function grantReadAccess(
  { pool }: { readonly pool: Queryable },
  applicants: readonly Applicant[],
  acceptances: readonly Acceptance[],
): Promise<void> {
  const others = applicants.flatMap(({ keyId }, i) => {
    const acceptance = acceptances[i];
    if (acceptance?.kind !== "known" || acceptance.submission.keyId === keyId) return [];
    return [{ id: acceptance.submission.id, keyId }];
  });
  if (others.length === 0) return;
  await pool.query(
    prepared(
      `insert into readers (submission, key_id) select * from unnest($1::uuid[], $2::text[])
       on conflict do nothing`,
      [others.map(({ id }) => id), others.map(({ keyId }) => keyId)],
    ),
  );
}

/** Of the submissions with these ids those that the key may see: its own, and those that it has sent as well. In no order. */
export async function findReadableSubmissions(
  { pool }: { readonly pool: Queryable },
  keyId: string,
  ids: readonly string[],
): Promise<Submission[]> {
  const { rows } = await pool.query<SubmissionRow>(
    prepared(
      `select ${SUBMISSION_COLUMNS} from submissions s
       where id = any($1::uuid[])
         and (key_id = $2 or exists (select from readers r where r.submission = s.id and r.key_id = $2))`,
      [ids, keyId],
    ),
  );
  return rows.map(submissionOf);
}
