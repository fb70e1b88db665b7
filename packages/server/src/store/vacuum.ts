import { prepared } from "./statements.js";
import type { Store } from "./store.js";

/** Dead rows that are worth a vacuum: what a busy second leaves behind. */
const WORTH_IT = 1_000;

/**
 * Clears away the dead rows of what is under way, if there are many: a submission leaves four behind, and every look at
 * the lane walks over them until they are gone. PostgreSQL does so by itself, but a minute later at the soonest.
 * @returns whether there were many. Whoever is at it already does it for all.
 */
export async function vacuumUnfinished({ pool }: Pick<Store, "pool">, least = WORTH_IT): Promise<boolean> {
  const { rows } = await pool.query<{ dead: string }>(
    prepared("select n_dead_tup as dead from pg_stat_user_tables where relid = 'unfinished'::regclass", []),
  );
  if (Number(rows[0]?.dead ?? 0) < least) return false;
  // To make the file shorter would lock everybody out for a moment.
  await pool.query("vacuum (skip_locked, truncate false) unfinished");
  return true;
}
