import { byteaArray, prepared } from "../database/statements.js";
import { type HeldLane, LeaseLostError, leaseParameters } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import type { SignedSubmission } from "../transitions/saveSigned.js";
import { columnsOf, type NewSubmission } from "./newSubmission.js";

/**
 * The SQLSTATEs with which the function `accept_signed` of the schema takes back what it has inserted: a submission has a competitor,
 * or waits for a lock.
 */
const TAKEN_BACK: ReadonlySet<unknown> = new Set(["GW002", "55P03"]);

/**
 * Accepts new submissions into a held lane together with their wrappers, in one durable write (D19): all of them are
 * `signed` then, or none is accepted. The statement checks as `accept` does, but leaves every exception to `accept`: a
 * sender with unfinished submissions, a competitor, a nonce below the floor of the lane, a lock that somebody holds.
 * @param origin the UUID of the replica, whose clients wait for the results.
 * @param newSubmissions of senders that differ.
 * @param signed the wrapper of each; the head is the same for all.
 * @returns whether they were accepted.
 * @throws {@link LeaseLostError}
 */
export async function acceptSigned(
  { pool }: Pick<Store, "pool">,
  lane: HeldLane,
  origin: string,
  newSubmissions: readonly NewSubmission[],
  signed: readonly Omit<SignedSubmission, "id" | "signings">[],
): Promise<boolean> {
  const { waivers: _, ...columns } = columnsOf(newSubmissions);
  const statement = prepared(
    "select accept_signed($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) as answer",
    [
      ...leaseParameters(lane),
      origin,
      ...Object.values(columns),
      signed.map(({ waiverNonce }) => waiverNonce.toString()),
      byteaArray(signed.map(({ wrapperHash }) => wrapperHash)),
      byteaArray(signed.map(({ wrapperRaw }) => wrapperRaw)),
      signed[0]?.head?.toString(),
    ],
  );
  try {
    const { rows } = await pool.query<{ answer: string }>(statement);
    if (rows[0]?.answer === "lost")
      throw new LeaseLostError(`epoch ${lane.epoch} of the lane is over: another owner has it`);
    return rows[0]?.answer === "accepted";
  } catch (error) {
    if (TAKEN_BACK.has((error as { code?: unknown }).code)) return false;
    throw error;
  }
}
