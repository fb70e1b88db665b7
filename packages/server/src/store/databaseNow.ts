import type { Store } from "./store.js";

/** Reads the database's clock. */
export async function databaseNow({ pool }: Store): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>("select now() as now");
  return rows[0]?.now ?? new Date(0);
}
