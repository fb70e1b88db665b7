import type { KeyCaps } from "../../model/caller.js";
import type { CapReached } from "../../model/capExceeded.js";
import { prepared } from "../statements.js";
import type { Queryable } from "../store.js";
import { type Acceptance, type Applicant, columnsOf } from "./applicant.js";
import { acceptanceOf, findCompetitors } from "./competitors.js";
import { grantReadAccess } from "./readAccess.js";

/** An applicant of a key with daily caps. */
export interface CappedApplicant extends Applicant {
  readonly caps: KeyCaps;
}

interface Row {
  id: string;
  waiver: Buffer;
  cap: keyof KeyCaps | null;
  used: string | null;
  day_ends: Date;
}

/**
 * {@link accept} for applicants of one key with daily caps: what is accepted is reserved by the same write, and what
 * does not fit is not accepted. The sum over replicas is exact, because whoever reserves holds the key's row. Of several
 * with one nonce of a sender, one that does not fit makes way for the first behind it that does, by another write.
 */
export async function acceptCapped(
  db: { readonly pool: Queryable },
  place: Place,
  applicants: readonly CappedApplicant[],
): Promise<Acceptance[]> {
  const decided = await acceptOnce(db, place, applicants);
  const shadowed = applicants.filter(({ id }) => !decided.has(id));
  if (shadowed.length > 0) {
    const again = await acceptCapped(db, place, shadowed);
    for (const [i, { id }] of shadowed.entries()) decided.set(id, again[i]);
  }
  const acceptances = applicants.map(({ id }) => {
    const acceptance = decided.get(id);
    if (acceptance === undefined) throw new Error("an applicant got no answer");
    return acceptance;
  });
  await grantReadAccess(db, applicants, acceptances);
  return acceptances;
}

type Place = { readonly chain: number; readonly origin: string };

/** By id; without those that one was in the way of which is out now, and that may fit. There are fewer each time. */
async function acceptOnce(
  { pool }: { readonly pool: Queryable },
  { chain, origin }: Place,
  applicants: readonly CappedApplicant[],
): Promise<Map<string, Acceptance | undefined>> {
  // They may differ for a moment when the caps have just changed: the latest hold.
  const last = applicants.at(-1);
  if (last === undefined) return new Map();
  const { keyId, caps } = last;
  const { key_ids: _, ...columns } = columnsOf(applicants);
  const { rows } = await pool.query<Row>(
    prepared(
      `select id, waiver, cap, used, day_ends
       from accept_capped($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
      [
        keyId,
        caps.transactions,
        caps.gas,
        caps.senderTransactions,
        caps.senderGas,
        applicants.map(({ gasLimit }) => gasLimit.toString()),
        chain,
        origin,
        ...Object.values(columns),
      ],
    ),
  );
  const accepted = new Map(rows.flatMap(({ id, waiver, cap }) => (cap === null ? [[id, waiver]] : [])));
  const refused = new Map(rows.flatMap((row) => (row.cap === null ? [] : [[row.id, row]])));
  const open = applicants.filter(({ id }) => !accepted.has(id) && !refused.has(id));
  const rivals = await findCompetitors({ pool }, chain, open);
  const inTheWay = new Map<string, Row>();
  for (const one of applicants) {
    const row = refused.get(one.id);
    if (row) inTheWay.set(placeOf(one), row);
  }
  const decided = new Map<string, Acceptance | undefined>();
  for (const one of applicants) {
    const isOpen = !accepted.has(one.id) && !rivals.has(one.id);
    const row = refused.get(one.id) ?? (isOpen ? inTheWay.get(placeOf(one)) : undefined);
    if (row === undefined) {
      decided.set(one.id, acceptanceOf(one, accepted, rivals));
      continue;
    }
    const by = reachedOf(row, { ...one, caps });
    // What is used only grows meanwhile, so the same cap is in the way of what is beyond it now.
    if (refused.has(one.id) || by.used + by.asked > by.limit) decided.set(one.id, { kind: "capped", by });
  }
  return decided;
}

function placeOf({ sender, senderNonce }: Applicant): string {
  return `${Buffer.from(sender).toString("hex")} ${senderNonce}`;
}

function reachedOf({ cap, used, day_ends: ends }: Row, { caps, gasLimit }: CappedApplicant): CapReached {
  if (cap === null) throw new Error("the applicant was not refused");
  const asked = cap === "gas" || cap === "senderGas" ? gasLimit : 1n;
  return { cap, limit: BigInt(caps[cap] ?? 0), used: BigInt(used ?? 0), asked, ends };
}
