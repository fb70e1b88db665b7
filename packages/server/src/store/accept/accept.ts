import { prepared } from "../statements.js";
import type { Queryable } from "../store.js";
import { type Acceptance, type Applicant, columnsOf } from "./applicant.js";
import { acceptanceOf, findCompetitors } from "./competitors.js";
import { grantReadAccess } from "./readAccess.js";

/**
 * Accepts what can be accepted, in one durable write (D19): the only handover of the service. One answer for
 * each applicant, in order. A sender stays in the lane that it has something under way in, so that its nonces
 * stay in order.
 */
export async function accept(
  { pool }: { readonly pool: Queryable },
  { chain, origin }: { readonly chain: number; readonly origin: string },
  applicants: readonly Applicant[],
): Promise<Acceptance[]> {
  const { rows } = await pool.query<{ id: string; waiver: Buffer }>(
    prepared("select id, waiver from accept($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)", [
      chain,
      origin,
      ...Object.values(columnsOf(applicants)),
    ]),
  );
  const accepted = new Map(rows.map(({ id, waiver }) => [id, waiver]));
  const others = applicants.filter(({ id }) => !accepted.has(id));
  const rivals = await findCompetitors({ pool }, chain, others);
  const acceptances = applicants.map((applicant) => acceptanceOf(applicant, accepted, rivals));
  await grantReadAccess({ pool }, applicants, acceptances);
  return acceptances;
}
