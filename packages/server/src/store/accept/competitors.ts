import { bytesEqual } from "@gas-waiver/protocol";
import type { Submission } from "../../model/submission/submission.js";
import { byteaArray, prepared } from "../database/statements.js";
import type { Queryable } from "../store.js";
import { findSubmissions } from "../submissions/findSubmissions.js";
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
  if (bytesEqual(competitor.innerHash, newSubmission.innerHash))
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
  const { rows } = await pool.query<{ requested_id: string; id: string }>(
    prepared(
      `select a.id as requested_id, coalesce(u.id, f.id, a.id) as id
       from unnest($2::uuid[], $3::bytea[], $4::numeric[]) as a (id, sender, nonce)
       left join unfinished u on u.chain = $1 and u.sender = a.sender and u.sender_nonce = a.nonce
       left join find_included($1, $3, $4) f on f.sender = a.sender and f.sender_nonce = a.nonce`,
      [
        chain,
        newSubmissions.map(({ id }) => id),
        byteaArray(newSubmissions.map(({ sender }) => sender)),
        newSubmissions.map(({ senderNonce }) => senderNonce.toString()),
      ],
    ),
  );
  const submissions = await findSubmissions({ pool }, [...new Set(rows.map(({ id }) => id))]);
  const byId = new Map(submissions.map((submission) => [submission.id, submission]));
  return new Map(
    rows.flatMap(({ requested_id, id }) => {
      const submission = byId.get(id);
      return submission ? [[requested_id, submission] as const] : [];
    }),
  );
}
