import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { byteaArray, prepared } from "../statements.js";
import type { Store } from "../store.js";

/** A submission's transaction, as the user signed it. */
export interface HeldTransaction {
  readonly innerRaw: Uint8Array;
  /** 20 bytes. */
  readonly sender: Uint8Array;
}

/**
 * Finds the transactions of submissions that no block has executed, of any API key: whoever knows the hash may know the
 * transaction, as on every node. No index has the hashes, because each step of each submission would pay for it: the query
 * reads the whole queue, which takes 1.4 ms where it has 10,000 submissions.
 * @returns by their hashes; unknown ones are left out.
 */
export async function findHeldTransactions(
  { pool }: Store,
  chain: number,
  innerHashes: readonly Uint8Array[],
): Promise<ReadonlyMap<Hex, HeldTransaction>> {
  const { rows } = await pool.query<{ inner_hash: Buffer; inner_raw: Buffer; sender: Buffer }>(
    prepared(
      `select inner_hash, inner_raw, sender from unfinished
       where chain = $1 and inner_hash = any($2::bytea[]) and state <> 'included'`,
      [chain, byteaArray(innerHashes)],
    ),
  );
  return new Map(
    rows.map((row) => [bytesToHex(row.inner_hash), { innerRaw: row.inner_raw, sender: row.sender }]),
  );
}
