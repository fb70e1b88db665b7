import { prepared } from "../statements.js";
import type { Store } from "../store.js";

/** A submission's transaction, as the user signed it. */
export interface HeldTransaction {
  readonly innerRaw: Uint8Array;
  /** 20 bytes. */
  readonly sender: Uint8Array;
}

/**
 * Finds the transaction of a submission that no block has executed, of any API key: whoever knows the hash may know the
 * transaction, as on every node.
 */
export async function findHeldTransaction(
  { pool }: Store,
  chain: number,
  innerHash: Uint8Array,
): Promise<HeldTransaction | undefined> {
  const { rows } = await pool.query<{ inner_raw: Buffer; sender: Buffer }>(
    prepared(
      "select inner_raw, sender from unfinished where chain = $1 and inner_hash = $2 and state <> 'included'",
      [chain, innerHash],
    ),
  );
  const [row] = rows;
  return row && { innerRaw: row.inner_raw, sender: row.sender };
}
