import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";

/** The count restarts if the last foreign use is older than this. */
const FOREIGN_USE_MEMORY = "24 hours";

/**
 * Counts a use of the waiver's nonces by something else.
 * @returns the number of such uses, each at most a day after the one before.
 */
export async function countForeignUse({ pool }: Store, chain: number, waiver: Uint8Array): Promise<number> {
  const { rows } = await pool.query<{ foreign_uses: number }>(
    `update lanes
     set foreign_uses = 1 + case when foreign_use_at > now() - interval '${FOREIGN_USE_MEMORY}' then foreign_uses else 0 end,
         foreign_use_at = now()
     where chain = $1 and waiver = $2 returning foreign_uses`,
    [chain, toBuffer(waiver)],
  );
  return rows[0]?.foreign_uses ?? 0;
}
