import { randomUUID } from "node:crypto";
import { type Connection, type ConnectionOptions, onConnection } from "../database/database.js";
import { StoreUnavailableError, troubleNamed } from "../database/storeTrouble.js";

/** So many transactions meet every session of a small pool, which hands them out in turn or the last one first. */
const PROBES = 25;

/**
 * Finds out whether a session stays with its connection. A pooler in transaction mode gives a session to another client
 * between two transactions: then settings, prepared statements, advisory locks and LISTEN are lost or met by others.
 * Such a pooler names no server process at the login, or one of its own making, as it has to find the session that a later
 * cancellation means. Where the name is not that of the session, one connection marks its session; another one must never
 * meet the mark, and the first must find it again.
 * @param first an open connection.
 * @param options those of the other one.
 * @throws {@link StoreUnavailableError} `pooled`.
 */
export async function assertOwnSessions(first: Connection, options: ConnectionOptions): Promise<void> {
  if (await isItsOwnProcess(first)) return;
  const mark = randomUUID();
  await first.query("select set_config('gas_waiver.session', $1, false)", [mark]);
  await onConnection(options, async (second) => {
    for (let i = 0; i < PROBES; i++) {
      if ((await markOf(second)) === mark) throw new StoreUnavailableError(troubleNamed("pooled"));
    }
  });
  if ((await markOf(first)) !== mark) throw new StoreUnavailableError(troubleNamed("pooled"));
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
