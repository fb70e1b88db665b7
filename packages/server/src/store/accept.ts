import type { KeyCaps } from "../model/caller.js";
import type { CapReached } from "../model/capExceeded.js";
import type { Submission } from "../model/submission.js";
import { byteaArray, prepared } from "./parameters.js";
import { grantReadAccess } from "./readers.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf, toBuffer } from "./rows.js";
import type { Queryable } from "./store.js";

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
  /** The lane it goes to, unless its sender has something under way in another: 20 bytes. */
  readonly waiver: Uint8Array;
  /** Of the InnerTx, in gas: what a cap of its key counts for it until it is in a block. */
  readonly gasLimit: bigint;
  /** The daily caps of its key, if it has any. */
  readonly caps?: KeyCaps | undefined;
}

/**
 * `accepted`: it is a submission now, in this lane. `known`: the same InnerTx is one already (D18). `conflict`:
 * another InnerTx has the sender's nonce (D20). `capped`: a daily cap of its key is used up (D25).
 */
export type Acceptance =
  | { readonly kind: "accepted"; readonly waiver: Uint8Array }
  | { readonly kind: "known"; readonly submission: Submission }
  | { readonly kind: "conflict"; readonly with: Submission }
  | { readonly kind: "capped"; readonly by: CapReached };

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

/** The columns of applicants as the database's functions take them, in their order. */
export function columnsOf(applicants: readonly Applicant[]) {
  return {
    ids: applicants.map((a) => a.id),
    key_ids: applicants.map((a) => a.keyId),
    inner_hashes: byteaArray(applicants.map((a) => a.innerHash)),
    inner_raws: byteaArray(applicants.map((a) => a.innerRaw)),
    senders: byteaArray(applicants.map((a) => a.sender)),
    nonces: applicants.map((a) => a.senderNonce.toString()),
    targets: byteaArray(applicants.map((a) => a.target)),
    selectors: byteaArray(applicants.map((a) => a.selector)),
    waivers: byteaArray(applicants.map((a) => a.waiver)),
  };
}

/** @param accepted the lanes of what was accepted, by id. */
export function acceptanceOf(
  applicant: Applicant,
  accepted: ReadonlyMap<string, Uint8Array>,
  rivals: ReadonlyMap<string, Submission>,
): Acceptance {
  const waiver = accepted.get(applicant.id);
  if (waiver) return { kind: "accepted", waiver };
  const rival = rivals.get(applicant.id);
  // The one that stood in the way has failed in between: for the caller that is a passing conflict.
  if (rival === undefined) throw new CompetitorGoneError();
  // A write that is done again finds what it took the first time.
  if (rival.id === applicant.id) return { kind: "accepted", waiver: applicant.waiver };
  if (toBuffer(rival.innerHash).equals(applicant.innerHash)) return { kind: "known", submission: rival };
  return { kind: "conflict", with: rival };
}

/** What refused an applicant ended before it could be read: accept again. */
export class CompetitorGoneError extends Error {
  override readonly name = "RivalGoneError";
}

/** For each applicant that was not taken, the submission that has its sender's nonce, or its id already. */
export async function findCompetitors(
  { pool }: { readonly pool: Queryable },
  chain: number,
  applicants: readonly Applicant[],
): Promise<Map<string, Submission>> {
  if (applicants.length === 0) return new Map();
  const { rows } = await pool.query<SubmissionRow & { applicant: string }>(
    prepared(
      `select a.id as applicant, ${SUBMISSION_COLUMNS.replaceAll(/\b(\w+)/g, "s.$1")}
       from unnest($2::uuid[], $3::bytea[], $4::numeric[]) as a (id, sender, nonce)
       cross join lateral (
         select id from unfinished where chain = $1 and sender = a.sender and sender_nonce = a.nonce
         union all
         select id from finished
         where chain = $1 and sender = a.sender and sender_nonce = a.nonce and state = 'included'
         union all
         select id from finished where id = a.id
         limit 1
       ) r join submissions s on s.id = r.id`,
      [
        chain,
        applicants.map((a) => a.id),
        byteaArray(applicants.map((a) => a.sender)),
        applicants.map((a) => a.senderNonce.toString()),
      ],
    ),
  );
  return new Map(rows.map((row) => [row.applicant, submissionOf(row)]));
}
