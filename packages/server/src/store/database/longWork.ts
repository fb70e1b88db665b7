import { type Pool, type PooledConnection, setAnswerTimeout } from "./database.js";

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
