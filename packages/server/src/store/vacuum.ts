import { prepared } from "./statements.js";
import type { Store } from "./store.js";

/** A busy second leaves about this many dead rows behind. */
const MIN_DEAD_ROWS = 1_000;

/**
 * Vacuums `unfinished` if it has many dead rows. Each submission leaves four, and every snapshot of a lane reads them.
 * PostgreSQL's own autovacuum comes a minute later at the earliest.
 * @returns whether it vacuumed. It skips the table while another session vacuums it.
 */
export async function vacuumUnfinished(
  { pool }: Pick<Store, "pool">,
  minDeadRows = MIN_DEAD_ROWS,
): Promise<boolean> {
  const { rows } = await pool.query<{ dead: string }>(
    prepared("select n_dead_tup as dead from pg_stat_user_tables where relid = 'unfinished'::regclass", []),
  );
  if (Number(rows[0]?.dead ?? 0) < minDeadRows) return false;
  // Truncating the file would lock out all other sessions for a moment.
  await pool.query("vacuum (skip_locked, truncate false) unfinished");
  return true;
}
