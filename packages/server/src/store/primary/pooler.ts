import { randomUUID } from "node:crypto";
import { type Connection, type ConnectionOptions, createConnection } from "../database/database.js";
import { StoreUnavailableError, troubleNamed } from "../database/storeTrouble.js";

/** So many transactions meet every session of a small pool, which hands them out in turn or the last one first. */
const PROBES = 25;

/**
 * Finds out whether a session stays with its connection. A pooler in transaction mode gives a session to another client
 * between two transactions: then settings, prepared statements, advisory locks and LISTEN are lost or met by others.
 * Such a pooler names no server process at the login, or one of its own making, as it has to find the session that a later
 * cancellation means. Where the name is not that of the session, one connection marks its session; another one must never
 * meet the mark, and the first must find it again.
 * @throws {@link StoreUnavailableError} `pooled`.
 */
export async function assertOwnSessions(options: ConnectionOptions): Promise<void> {
  const [first, second] = [createConnection(options), createConnection(options)];
  try {
    await first.connect();
    if (await isItsOwnProcess(first)) return;
    await second.connect();
    const mark = randomUUID();
    await first.query("select set_config('gas_waiver.session', $1, false)", [mark]);
    for (let i = 0; i < PROBES; i++) {
      if ((await markOf(second)) === mark) throw new StoreUnavailableError(troubleNamed("pooled"));
    }
    if ((await markOf(first)) !== mark) throw new StoreUnavailableError(troubleNamed("pooled"));
  } finally {
    await Promise.all([first, second].map((connection) => connection.end().catch(() => {})));
  }
}

async function isItsOwnProcess(connection: Connection): Promise<boolean> {
  const { rows } = await connection.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0] !== undefined && rows[0].pid === connection.serverProcess();
}

async function markOf(connection: Connection): Promise<string | null | undefined> {
  const { rows } = await connection.query<{ mark: string | null }>(
    "select current_setting('gas_waiver.session', true) as mark",
  );
  return rows[0]?.mark;
}
