import type { Submission } from "../submission.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf, toBuffer } from "./rows.js";
import type { Store } from "./Store.js";

/** An InnerTx that keeps every rule and asks to be taken. */
export interface Applicant {
  readonly id: string;
  readonly keyId: string;
  readonly innerHash: Uint8Array;
  readonly innerRaw: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  readonly target: Uint8Array;
  readonly selector: Uint8Array | undefined;
}

/**
 * `accepted`: it is a submission now. `known`: the same InnerTx is one already (D18). `conflict`: another
 * InnerTx has the sender's nonce (D20).
 */
export type Acceptance =
  | { readonly kind: "accepted" }
  | { readonly kind: "known"; readonly submission: Submission }
  | { readonly kind: "conflict"; readonly with: Submission };

/**
 * Accepts what can be accepted, in one durable write (D19): the only handover of the service. One answer for
 * each applicant, in order.
 */
export async function accept(
  { pool }: Store,
  chain: number,
  applicants: readonly Applicant[],
): Promise<Acceptance[]> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into submissions (chain, id, key_id, inner_hash, inner_raw, sender, sender_nonce, target, selector)
     select $1, id, key_id, inner_hash, inner_raw, sender, sender_nonce, target, selector
     from unnest($2::uuid[], $3::text[], $4::bytea[], $5::bytea[], $6::bytea[], $7::numeric[], $8::bytea[],
                 $9::bytea[]) with ordinality
            as a (id, key_id, inner_hash, inner_raw, sender, sender_nonce, target, selector, place)
     -- Two requests that hold the same InnerTxs wait for each other in one order only, and so never in a circle.
     order by sender, sender_nonce, place
     on conflict do nothing returning id`,
    [
      chain,
      applicants.map((a) => a.id),
      applicants.map((a) => a.keyId),
      applicants.map((a) => toBuffer(a.innerHash)),
      applicants.map((a) => toBuffer(a.innerRaw)),
      applicants.map((a) => toBuffer(a.sender)),
      applicants.map((a) => a.senderNonce.toString()),
      applicants.map((a) => toBuffer(a.target)),
      applicants.map((a) => a.selector && toBuffer(a.selector)),
    ],
  );
  const accepted = new Set(rows.map(({ id }) => id));
  const others = applicants.filter(({ id }) => !accepted.has(id));
  const rivals = await findRivals({ pool }, chain, others);
  return applicants.map((applicant) => {
    if (accepted.has(applicant.id)) return { kind: "accepted" };
    const rival = rivals.get(applicant.id);
    // The one that stood in the way has failed in between: for the caller that is a passing conflict.
    if (rival === undefined) throw new RivalGoneError();
    if (toBuffer(rival.innerHash).equals(applicant.innerHash)) return { kind: "known", submission: rival };
    return { kind: "conflict", with: rival };
  });
}

/** What refused an applicant ended before it could be read: accept again. */
export class RivalGoneError extends Error {
  override readonly name = "RivalGoneError";
}

/** For each applicant that was not taken, the submission that has its sender's nonce. */
async function findRivals(
  { pool }: Pick<Store, "pool">,
  chain: number,
  applicants: readonly Applicant[],
): Promise<Map<string, Submission>> {
  if (applicants.length === 0) return new Map();
  const { rows } = await pool.query<SubmissionRow & { applicant: string }>(
    `select a.id as applicant, ${SUBMISSION_COLUMNS.replaceAll(/\b(\w+)/g, "s.$1")}
     from unnest($2::uuid[], $3::bytea[], $4::numeric[]) as a (id, sender, nonce)
     join submissions s on s.chain = $1 and s.sender = a.sender and s.sender_nonce = a.nonce and s.state <> 'failed'`,
    [
      chain,
      applicants.map((a) => a.id),
      applicants.map((a) => toBuffer(a.sender)),
      applicants.map((a) => a.senderNonce.toString()),
    ],
  );
  return new Map(rows.map((row) => [row.applicant, submissionOf(row)]));
}
