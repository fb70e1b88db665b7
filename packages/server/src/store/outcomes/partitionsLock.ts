import { type Pool, type PooledConnection, setAnswerTimeout } from "../database/database.js";
import { advisoryLock } from "../database/sharedDatabase.js";
import { PARTITIONS_LOCK } from "./createDays.js";

/** A statement gives way when it waits this long for another session. */
const LOCK_TIMEOUT = "2s";
/** Vacuuming a large day takes long, and says nothing meanwhile. */
const ANSWER_MS = 4 * 3_600_000;

/**
 * Runs work on the partitions of outcomes on a connection of its own, unless another session does such work. The signal
 * cuts the connection, at whatever it is.
 */
export async function withPartitionsLock(
  { pool }: { readonly pool: Pool },
  signal: AbortSignal,
  run: (db: PooledConnection) => Promise<void>,
): Promise<void> {
  const connection = await pool.connect();
  if (signal.aborted) return connection.release();
  const lock = advisoryLock(pool, PARTITIONS_LOCK);
  let isReleased = false;
  const release = (destroy: boolean) => {
    if (isReleased) return;
    isReleased = true;
    connection.release(destroy);
  };
  const cut = () => release(true);
  signal.addEventListener("abort", cut);
  try {
    const { rows } = await connection.query<{ locked: boolean }>(
      "select pg_try_advisory_lock($1) as locked",
      [lock],
    );
    if (rows[0]?.locked === true) {
      await connection.query(`set lock_timeout = '${LOCK_TIMEOUT}'`);
      setAnswerTimeout(connection, ANSWER_MS);
      await run(connection);
      setAnswerTimeout(connection);
      await connection.query("reset lock_timeout");
      await connection.query("select pg_advisory_unlock($1)", [lock]);
    }
    release(false);
  } finally {
    // After a failure, the end of the connection releases the lock.
    release(true);
    signal.removeEventListener("abort", cut);
  }
}
