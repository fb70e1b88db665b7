import { prepared } from "./database/statements.js";
import type { Store } from "./store.js";

/** A busy second leaves about this many dead rows behind. */
const MIN_DEAD_ROWS = 1_000;

/**
 * Vacuums `unfinished` if it has many dead rows. Each submission leaves up to four, and every snapshot of a lane reads them.
 * PostgreSQL's own autovacuum comes a minute later at the earliest.
 * @returns `kept` if most of them stayed, which a transaction that is open somewhere may still see; `none` if there were few.
 */
export async function vacuumUnfinished(
  { pool }: Pick<Store, "pool">,
  minDeadRows = MIN_DEAD_ROWS,
): Promise<"removed" | "kept" | "none"> {
  const before = await deadRows(pool);
  if (before < minDeadRows) return "none";
  // Truncating the file would lock out all other sessions for a moment.
  await pool.query("vacuum (skip_locked, truncate false) unfinished");
  return (await deadRows(pool)) > before / 2 ? "kept" : "removed";
}

async function deadRows(pool: Store["pool"]): Promise<number> {
  const { rows } = await pool.query<{ dead: string }>(
    prepared("select n_dead_tup as dead from pg_stat_user_tables where relid = 'unfinished'::regclass", []),
  );
  return Number(rows[0]?.dead ?? 0);
}
