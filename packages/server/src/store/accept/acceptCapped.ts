import type { KeyCaps } from "../../model/keys/caller.js";
import { prepared } from "../database/statements.js";
import { type CapRow, capReachedOf, capsOf } from "../keys/reserveCaps.js";
import type { Queryable } from "../store.js";
import { type AcceptPlace, acceptanceOf, findCompetitors } from "./accept.js";
import { type Acceptance, columnsOf, type NewSubmission } from "./newSubmission.js";
import { grantReadAccess } from "./readAccess.js";

/** A new submission of an API key with daily caps (D25). */
export interface CappedSubmission extends NewSubmission {
  readonly caps: KeyCaps;
}

/**
 * {@link accept} for new submissions of one API key with daily caps. The write that accepts a transaction reserves its
 * share of the caps, and a transaction that does not fit is not accepted. The sum is exact over all replicas, because
 * each write locks the key's row. Where several new submissions have the same sender and nonce and the first does not
 * fit, another write accepts the next one that fits.
 */
export async function acceptCapped(
  db: { readonly pool: Queryable },
  place: AcceptPlace,
  newSubmissions: readonly CappedSubmission[],
  isRepeated = true,
): Promise<Acceptance[]> {
  const decided = await acceptOnce(db, place, newSubmissions, isRepeated);
  const retried = newSubmissions.filter(({ id }) => !decided.has(id));
  if (retried.length > 0) {
    const retriedAcceptances = await acceptCapped(db, place, retried, isRepeated);
    for (const [i, { id }] of retried.entries()) decided.set(id, retriedAcceptances[i]);
  }
  const acceptances = newSubmissions.map(({ id }) => {
    const acceptance = decided.get(id);
    if (acceptance === undefined) throw new Error("a new submission got no answer");
    return acceptance;
  });
  await grantReadAccess(db, newSubmissions, acceptances);
  return acceptances;
}

/**
 * Makes one write.
 * @returns the answers by id, without the new submissions whose competitor was refused: the caller retries them.
 */
async function acceptOnce(
  { pool }: { readonly pool: Queryable },
  { chain, origin, places }: AcceptPlace,
  newSubmissions: readonly CappedSubmission[],
  isRepeated: boolean,
): Promise<Map<string, Acceptance | undefined>> {
  // Right after a change of the caps, new submissions may have different ones. The newest caps apply.
  const last = newSubmissions.at(-1);
  if (last === undefined) return new Map();
  const { keyId, caps } = last;
  const { key_ids: _, ...columns } = columnsOf(newSubmissions);
  const { rows } = await pool.query<CapRow>(
    prepared(
      `select id, waiver, cap, used, day_ends
       from accept_capped($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
      [
        keyId,
        ...capsOf(caps),
        newSubmissions.map(({ gasLimit }) => gasLimit.toString()),
        chain,
        origin,
        ...Object.values(columns),
        places?.give(newSubmissions) ?? [],
        isRepeated,
      ],
    ),
  );
  const accepted = new Map(rows.flatMap(({ id, waiver, cap }) => (cap === null ? [[id, waiver]] : [])));
  const refused = new Map(rows.flatMap((row) => (row.cap === null ? [] : [[row.id, row]])));
  const undecided = newSubmissions.filter(({ id }) => !accepted.has(id) && !refused.has(id));
  const competitors = await findCompetitors({ pool }, chain, undecided);
  const refusedByNonce = new Map<string, CapRow>();
  for (const newSubmission of newSubmissions) {
    const row = refused.get(newSubmission.id);
    if (row) refusedByNonce.set(nonceKey(newSubmission), row);
  }
  const decided = new Map<string, Acceptance | undefined>();
  for (const newSubmission of newSubmissions) {
    const isUndecided = !accepted.has(newSubmission.id) && !competitors.has(newSubmission.id);
    const row =
      refused.get(newSubmission.id) ??
      (isUndecided ? refusedByNonce.get(nonceKey(newSubmission)) : undefined);
    if (row === undefined) {
      decided.set(newSubmission.id, acceptanceOf(newSubmission, accepted, competitors));
      continue;
    }
    const by = capReachedOf(row, caps, newSubmission.gasLimit);
    // By the amount that was in use then, the cap that refused the competitor may refuse this one too.
    if (refused.has(newSubmission.id) || by.used + by.asked > by.limit)
      decided.set(newSubmission.id, { kind: "capped", by });
  }
  return decided;
}

function nonceKey({ sender, senderNonce }: NewSubmission): string {
  return `${Buffer.from(sender).toString("hex")} ${senderNonce}`;
}
