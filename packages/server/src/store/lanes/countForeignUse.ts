import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";

/** Uses that lie further apart than this do not add up. */
const FOREIGN_USE_FADES = "24 hours";

/**
 * Counts a use of the waiver's nonces by something else.
 * @returns the uses so far, each at most a day after the one before.
 */
export async function countForeignUse({ pool }: Store, chain: number, waiver: Uint8Array): Promise<number> {
  const { rows } = await pool.query<{ foreign_uses: number }>(
    `update lanes
     set foreign_uses = 1 + case when foreign_use_at > now() - interval '${FOREIGN_USE_FADES}' then foreign_uses else 0 end,
         foreign_use_at = now()
     where chain = $1 and waiver = $2 returning foreign_uses`,
    [chain, toBuffer(waiver)],
  );
  return rows[0]?.foreign_uses ?? 0;
}
