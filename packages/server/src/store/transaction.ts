import type { Queryable, Store } from "./store.js";

/**
 * For how long a statement waits for what another transaction holds; and after how long without a word the database
 * ends a transaction, whose process may be frozen, and which others wait for.
 */
const BEGIN = `
  begin; set local lock_timeout = '3s'; set local idle_in_transaction_session_timeout = '3s'`;

/** Runs this in a transaction of its own; what it throws takes everything back. */
export async function inTransaction<T>(
  { pool }: Pick<Store, "pool">,
  run: (db: Queryable) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(BEGIN);
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

/** deadlock_detected, lock_not_available, idle_in_transaction_session_timeout */
const LOST: ReadonlySet<unknown> = new Set(["40P01", "55P03", "25P03"]);

/** Did it lose against another transaction, so that it may pass when it is done again? */
export function isTransactionConflict(error: unknown): boolean {
  return error instanceof Error && "code" in error && LOST.has(error.code);
}
