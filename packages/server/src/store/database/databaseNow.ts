import type { Queryable } from "./database.js";

/** Reads the database's clock. */
export async function databaseNow({ pool }: { readonly pool: Queryable }): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>("select now() as now");
  return rows[0]?.now ?? new Date(0);
}
