import type { ErrorValues } from "@gas-waiver/protocol";
import { uuidLiteral } from "../database/statements.js";
import type { Store } from "../store.js";

/**
 * Adds the cause of a revert to an included submission, wherever its row is. It moves nothing. A reorg meanwhile makes the
 * cause void, so the row must still have the block.
 * @param blockHash 32 bytes.
 */
export async function saveRevertCause(
  { pool }: Pick<Store, "pool">,
  { id, blockHash }: { readonly id: string; readonly blockHash: Uint8Array },
  cause: ErrorValues,
): Promise<void> {
  const ofRow = `id = ${uuidLiteral(id)} and state = 'included' and reverted and block_hash = $2`;
  // With the id in the text, the planner opens only the partition of its day.
  const sql = `with u as (update unfinished set error_details = $1 where ${ofRow} returning id)
    , f as (update finished set error_details = $1 where ${ofRow} returning id)
    select id from u union all select id from f`;
  const parameters = [JSON.stringify(cause), Buffer.from(blockHash)];
  const { rowCount } = await pool.query(sql, parameters);
  // A row that moves to `finished` during the statement is in neither table for it, and in the second for the next one.
  if (rowCount === 0) await pool.query(sql, parameters);
}
