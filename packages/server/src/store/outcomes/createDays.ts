import type { Pool } from "../database.js";
import { inLockedTransaction } from "../transaction.js";

/** The advisory lock that lets one session at a time change the partitions of `finished`. */
export const PARTITIONS_LOCK = 0x6761_7370;

/** The days ahead that have a partition. A service can stand still for so long, or its clock be wrong by so much. */
export const DAYS_AHEAD = 3;

/**
 * Makes the partitions of outcomes that are missing up to some days ahead. Requests do not wait for it.
 * @returns the number of partitions that were made.
 */
export async function createDaysAhead(
  { pool }: { readonly pool: Pool },
  daysAhead = DAYS_AHEAD,
): Promise<number> {
  const { rows } = await pool.query<{ complete: boolean }>(
    "select end_id > first_id_of((now() at time zone 'UTC')::date + $1::int) as complete from finished_range",
    [daysAhead],
  );
  if (rows[0]?.complete === true) return 0;
  return await inLockedTransaction({ pool }, PARTITIONS_LOCK, async (db) => {
    await db.query("set local lock_timeout = '1s'");
    const created = await db.query<{ made: number }>("select create_finished_days($1) as made", [daysAhead]);
    return created.rows[0]?.made ?? 0;
  });
}
