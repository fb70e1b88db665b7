import type { Submission } from "../../model/submission/submission.js";
import { uuidLiteral } from "../database/statements.js";
import type { Queryable } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf } from "../submissionRow.js";

/** Finds submissions by id. Unknown ids are left out; the order is undefined. */
export async function findSubmissions(
  { pool }: { readonly pool: Queryable },
  ids: readonly string[],
): Promise<Submission[]> {
  if (ids.length === 0) return [];
  // With the ids in the text, the planner reads only the partitions of their days.
  const { rows } = await pool.query<SubmissionRow>(
    `select ${SUBMISSION_COLUMNS} from submissions where id in (${ids.map(uuidLiteral).join(", ")})`,
  );
  return rows.map(submissionOf);
}
