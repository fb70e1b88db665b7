import { bytesEqual } from "@gas-waiver/protocol";
import type { Submission } from "../../model/submission/submission.js";
import { byteaArray, prepared } from "../database/statements.js";
import type { Queryable } from "../store.js";
import { findSubmissions } from "../submissions/findSubmissions.js";
import { type Acceptance, columnsOf, type NewSubmission } from "./newSubmission.js";
import type { Places } from "./places.js";
import { grantReadAccess } from "./readAccess.js";

/** The chain of new submissions, and the replica that accepts them. */
export interface AcceptPlace {
  /** The chain's number in the store. */
  readonly chain: number;
  /** The UUID of the replica, whose clients wait for the results. */
  readonly origin: string;
  /** Gives them their places in the queue. Without it, each has the end of the queue. */
  readonly places?: Places;
}

/**
 * Accepts new submissions in one durable write (D19). The service may refuse a transaction before this write; after it,
 * the submission reaches a final state. A sender with unfinished submissions stays in their lane, so that its nonces
 * stay in order.
 * @param isRepeated an earlier write may have accepted some of these, and they may have failed since. Finding that out costs
 *   a tenth of the write.
 * @returns one answer for each new submission, in their order.
 * @throws {@link CompetitorGoneError}
 */
export async function accept(
  { pool }: { readonly pool: Queryable },
  { chain, origin, places }: AcceptPlace,
  newSubmissions: readonly NewSubmission[],
  isRepeated = true,
): Promise<Acceptance[]> {
  const { rows } = await pool.query<{ id: string; waiver: Buffer }>(
    prepared("select id, waiver from accept($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)", [
      chain,
      origin,
      ...Object.values(columnsOf(newSubmissions)),
      places?.give(newSubmissions) ?? [],
      isRepeated,
    ]),
  );
  const accepted = new Map(rows.map(({ id, waiver }) => [id, waiver]));
  const notAccepted = newSubmissions.filter(({ id }) => !accepted.has(id));
  const competitors = await findCompetitors({ pool }, chain, notAccepted);
  const acceptances = newSubmissions.map((newSubmission) =>
    acceptanceOf(newSubmission, accepted, competitors),
  );
  await grantReadAccess({ pool }, newSubmissions, acceptances);
  return acceptances;
}

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
