import type { KeyCaps } from "../../model/keys/caller.js";
import type { CapReached } from "../../model/keys/capExceeded.js";
import { capFailure } from "../../model/keys/capExceeded.js";
import type { Failure } from "../../model/submission/submission.js";
import type { NewSubmission } from "../accept/newSubmission.js";
import { prepared } from "../database/statements.js";
import { inTransaction, isTransactionConflict } from "../database/transaction.js";
import type { Store } from "../store.js";
import { findKey } from "./apiKeys.js";

/** The answer of the functions `accept_capped` and `reserve_caps` of the schema for a submission: a cap without room, or none. */
export interface CapRow {
  readonly id: string;
  readonly waiver: Buffer;
  readonly cap: keyof KeyCaps | null;
  readonly used: string | null;
  readonly day_ends: Date;
}

/** The caps, in the order of the functions' parameters. */
export const capsOf = ({ transactions, gas, senderTransactions, senderGas }: KeyCaps) => [
  transactions,
  gas,
  senderTransactions,
  senderGas,
];

/** @param gasLimit of the submission that was refused. */
export function capReachedOf(
  { cap, used, day_ends: ends }: CapRow,
  caps: KeyCaps,
  gasLimit: bigint,
): CapReached {
  if (cap === null) throw new Error("the submission was not refused");
  const asked = cap === "gas" || cap === "senderGas" ? gasLimit : 1n;
  return { cap, limit: BigInt(caps[cap] ?? 0), used: BigInt(used ?? 0), asked, ends };
}

/** A submission that waited unreserved, and whose turn it is. */
export type UnreservedSubmission = Pick<NewSubmission, "id" | "keyId" | "gasLimit">;

/** A session that holds the row of a key delays the submissions of that key, and not the lane. */
const BEGIN = "begin; set local lock_timeout = '20ms'; set local idle_in_transaction_session_timeout = '3s'";

/**
 * Reserves what queued submissions take of their keys' daily caps, as the caps are now (D25).
 * @returns by id: undefined for what is reserved, or the failure of what does not fit. Those that are absent have ended, or somebody
 *   holds the row of their key.
 */
export async function reserveCaps(
  store: Store,
  waiting: readonly UnreservedSubmission[],
): Promise<ReadonlyMap<string, Failure | undefined>> {
  const results = new Map<string, Failure | undefined>();
  for (const keyId of new Set(waiting.map((one) => one.keyId))) {
    const key = await findKey(store, keyId);
    const { caps = {} } = key?.terms ?? {};
    const ofKey = new Map(waiting.filter((one) => one.keyId === keyId).map((one) => [one.id, one]));
    const statement = prepared("select * from reserve_caps($1, $2, $3, $4, $5, $6, null)", [
      keyId,
      ...capsOf(caps),
      [...ofKey.keys()],
    ]);
    const reserve = inTransaction(store, async (db) => (await db.query<CapRow>(statement)).rows, BEGIN);
    const rows = await reserve.catch((error: unknown) => {
      if (isTransactionConflict(error)) return [];
      throw error;
    });
    for (const row of rows) {
      const reached = row.cap && capReachedOf(row, caps, ofKey.get(row.id)?.gasLimit ?? 0n);
      results.set(row.id, reached ? capFailure(reached, key?.isPublishable === true) : undefined);
    }
  }
  return results;
}
