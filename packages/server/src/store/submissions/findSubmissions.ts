import type { Submission } from "../../model/submission.js";
import { prepared } from "../statements.js";
import type { Queryable } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf } from "../submissionRow.js";

/** Finds submissions by id. Unknown ids are left out; the order is undefined. */
export async function findSubmissions(
  { pool }: { readonly pool: Queryable },
  ids: readonly string[],
): Promise<Submission[]> {
  const { rows } = await pool.query<SubmissionRow>(
    prepared(`select ${SUBMISSION_COLUMNS} from submissions where id = any($1::uuid[])`, [ids]),
  );
  return rows.map(submissionOf);
}
