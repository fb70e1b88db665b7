import { type Pool, type PooledConnection, type Queryable, setAnswerTimeout } from "./database.js";
import { advisoryLock } from "./sharedDatabase.js";

/**
 * A statement waits at most 3 s for a lock. The database ends a transaction that is idle for 3 s, because its process may be
 * frozen while others wait for its locks.
 */
const BEGIN = `
  begin; set local lock_timeout = '3s'; set local idle_in_transaction_session_timeout = '3s'`;

/** Runs work in a transaction. If the work throws, the transaction is rolled back. */
export async function inTransaction<T>(
  { pool }: { readonly pool: Pool },
  run: (db: Queryable) => Promise<T>,
  begin = BEGIN,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(begin);
    const result = await run(client);
    await client.query("commit");
    client.release();
    return result;
  } catch (error) {
    // A connection that cannot roll back is closed.
    await client.query("rollback").then(
      () => client.release(),
      () => client.release(true),
    );
    throw error;
  }
}

/** Runs work in a transaction that holds an advisory lock, so that one session at a time runs it, and waits long for others. */
export function inLockedTransaction<T>(
  { pool }: { readonly pool: Pool },
  lock: number,
  run: (db: Queryable) => Promise<T>,
): Promise<T> {
  return inTransaction({ pool }, run, `begin; select pg_advisory_xact_lock(${advisoryLock(pool, lock)})`);
}
/** deadlock_detected, lock_not_available, idle_in_transaction_session_timeout */
const CONFLICT_CODES: ReadonlySet<unknown> = new Set(["40P01", "55P03", "25P03"]);

/** True if a lock of another transaction or a silence made this one fail, so that it may succeed when it runs again. */
export function isTransactionConflict(error: unknown): boolean {
  return error instanceof Error && "code" in error && CONFLICT_CODES.has(error.code);
}

/** Vacuuming a large table takes long, and says nothing meanwhile. */
const ANSWER_MS = 4 * 3_600_000;

/**
 * Runs work that may take long on a connection of its own. The signal cuts the connection, at whatever it is; a failure closes it,
 * which gives back what the session has locked.
 */
export async function doLongWork<T>(
  { pool }: { readonly pool: Pool },
  signal: AbortSignal,
  run: (db: PooledConnection) => Promise<T>,
): Promise<T> {
  const connection = await pool.connect();
  let isReleased = false;
  const release = (destroy: boolean) => {
    if (isReleased) return;
    isReleased = true;
    connection.release(destroy);
  };
  const cut = () => release(true);
  signal.addEventListener("abort", cut);
  try {
    signal.throwIfAborted();
    setAnswerTimeout(connection, ANSWER_MS);
    const result = await run(connection);
    setAnswerTimeout(connection);
    release(false);
    return result;
  } finally {
    release(true);
    signal.removeEventListener("abort", cut);
  }
}
