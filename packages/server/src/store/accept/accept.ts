import { prepared } from "../database/statements.js";
import type { Queryable } from "../store.js";
import { acceptanceOf, findCompetitors } from "./competitors.js";
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
