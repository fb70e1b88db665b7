import { createWakeableTimer } from "../../util/wakeableTimer.js";
import { type ConnectionOptions, onConnection, type Queryable } from "../database/database.js";

const INTERVAL_MS = 5_000;

/**
 * Watches which server the database's name leads to, by a new connection now and then. After a failover that did not end the old
 * primary, open connections stay with it and go on as before, so that one service would write to two servers.
 * @param first the server of the connections that are open.
 * @param onOther called when the name leads to another primary than before.
 */
export function watchServer(options: ConnectionOptions, first: string | undefined, onOther: () => void) {
  const timer = createWakeableTimer();
  let isClosed = false;
  let known = first;
  const watch = async () => {
    for (;;) {
      await timer.rest(INTERVAL_MS, false);
      if (isClosed) return;
      // Whether the database can be reached is for the monitor to tell.
      const server = await onConnection(options, readServer).catch(() => undefined);
      if (server === undefined || server === known || isClosed) continue;
      known = server;
      onOther();
    }
  };
  const watching = watch();
  return {
    async close() {
      isClosed = true;
      timer.end();
      await watching;
    },
  };
}

/**
 * Returns what tells the server from any other one: no two have started in the same microsecond. It is undefined for a standby, to
 * which a name may lead for a while, and where no connection of the service could work.
 */
export async function readServer(db: Queryable): Promise<string | undefined> {
  const { rows } = await db.query<{ server: string }>(
    `select extract(epoch from pg_postmaster_start_time())::text as server
     where current_setting('transaction_read_only') = 'off'`,
  );
  return rows[0]?.server;
}
