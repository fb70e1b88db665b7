import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";

/**
 * Adds to the count of wrappers that something else has signed with the waiver's key.
 * @returns the new count.
 */
export async function countForeignUses(
  { pool }: Store,
  chain: number,
  waiver: Uint8Array,
  newUses: number,
): Promise<number> {
  const { rows } = await pool.query<{ foreign_uses: number }>(
    "update lanes set foreign_uses = foreign_uses + $3 where chain = $1 and waiver = $2 returning foreign_uses",
    [chain, toBuffer(waiver), newUses],
  );
  return rows[0]?.foreign_uses ?? 0;
}
