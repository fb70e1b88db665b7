import type { Queryable } from "./database/database.js";
import { prepared } from "./database/statements.js";
import { doLongWork } from "./database/transaction.js";
import type { Store } from "./store.js";

/** A busy second leaves about this many dead rows behind. */
const MIN_DEAD_ROWS = 1_000;

/**
 * Vacuums `unfinished` if it has many dead rows. Each submission leaves up to four, and every snapshot of a lane reads them.
 * PostgreSQL's own autovacuum comes a minute later at the earliest. The signal ends a vacuum.
 * @returns `kept` if most of them stayed, which a transaction that is open somewhere may still see; `none` if there were few.
 */
export async function vacuumUnfinished(
  store: Pick<Store, "pool">,
  signal: AbortSignal,
  minDeadRows = MIN_DEAD_ROWS,
): Promise<"removed" | "kept" | "none"> {
  return await doLongWork(store, signal, async (db) => {
    const before = await deadRows(db);
    if (before < minDeadRows) return "none";
    // Truncating the file would lock out all other sessions for a moment.
    await db.query("vacuum (skip_locked, truncate false) unfinished");
    return (await deadRows(db)) > before / 2 ? "kept" : "removed";
  });
}

async function deadRows(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ dead: string }>(
    prepared("select n_dead_tup as dead from pg_stat_user_tables where relid = 'unfinished'::regclass", []),
  );
  return Number(rows[0]?.dead ?? 0);
}
