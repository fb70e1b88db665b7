import type { Queryable, Store } from "./Store.js";

/** For how long a statement of a transaction waits for what another one holds. */
const LOCK_TIMEOUT = "3s";

/** Runs this in a transaction of its own; what it throws takes everything back. */
export async function inTransaction<T>(
  { pool }: Pick<Store, "pool">,
  run: (db: Queryable) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local lock_timeout = '${LOCK_TIMEOUT}'`);
    const result = await run(client);
    await client.query("commit");
    client.release();
    return result;
  } catch (error) {
    // A connection that cannot go back goes, and with it whatever was begun.
    await client.query("rollback").then(
      () => client.release(),
      () => client.release(true),
    );
    throw error;
  }
}

/** Did it lose against another transaction, so that it may pass when it is done again? */
export function hasLostRace(error: unknown): boolean {
  // deadlock_detected, lock_not_available
  return error instanceof Error && "code" in error && (error.code === "40P01" || error.code === "55P03");
}
