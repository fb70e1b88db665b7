import type { KeyCaps } from "../caller.js";
import { type Acceptance, type Applicant, acceptanceOf, columnsOf, findRivals } from "./accept.js";
import { prepared } from "./parameters.js";
import { letRead } from "./readers.js";
import type { Queryable } from "./Store.js";

/** An applicant of a key with daily caps. */
export interface CappedApplicant extends Applicant {
  readonly caps: KeyCaps;
}

/** A cap that is in the way of a transaction (D25). */
export interface CapReached {
  readonly cap: keyof KeyCaps;
  /** In transactions or gas, as are the next two. */
  readonly limit: bigint;
  readonly used: bigint;
  readonly asked: bigint;
  /** When the day ends, by the database's clock. */
  readonly ends: Date;
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
 * does not fit is not accepted. The sum over replicas is exact, because whoever reserves holds the key's row.
 */
export async function acceptCapped(
  { pool }: { readonly pool: Queryable },
  { chain, origin }: { readonly chain: number; readonly origin: string },
  applicants: readonly CappedApplicant[],
): Promise<Acceptance[]> {
  // They may differ for a moment when the caps have just changed: the latest hold.
  const last = applicants.at(-1);
  if (last === undefined) return [];
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
  const rivals = await findRivals({ pool }, chain, open);
  const stoodInTheWay = new Map(
    applicants.flatMap((one) => {
      const row = refused.get(one.id);
      return row ? [[placeOf(one), row] as const] : [];
    }),
  );
  const acceptances = applicants.map((applicant): Acceptance => {
    // Another of this write had its sender's nonce, and was refused: this one was in its shadow.
    const row =
      refused.get(applicant.id) ??
      (rivals.has(applicant.id) || accepted.has(applicant.id)
        ? undefined
        : stoodInTheWay.get(placeOf(applicant)));
    if (row) return { kind: "capped", by: reachedOf(row, applicant) };
    return acceptanceOf(applicant, accepted, rivals);
  });
  await letRead({ pool }, applicants, acceptances);
  return acceptances;
}

function placeOf({ sender, senderNonce }: Applicant): string {
  return `${Buffer.from(sender).toString("hex")} ${senderNonce}`;
}

function reachedOf({ cap, used, day_ends: ends }: Row, { caps, gasLimit }: CappedApplicant): CapReached {
  if (cap === null) throw new Error("the applicant was not refused");
  const asked = cap === "gas" || cap === "senderGas" ? gasLimit : 1n;
  return { cap, limit: BigInt(caps[cap] ?? 0), used: BigInt(used ?? 0), asked, ends };
}
