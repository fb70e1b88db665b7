import { EventEmitter, once } from "node:events";
import { createConnection } from "../../src/store/database/database.js";

/** Notify the channel `tests` after every statement that inserts or updates lanes or submissions. */
const TRIGGERS = ["lanes", "unfinished", "finished"].map(
  (table) => `create or replace trigger notify_tests after insert or update on ${table}
    for each statement execute function notify_tests()`,
);
const FUNCTION = `create or replace function notify_tests() returns trigger language plpgsql as
  $$ begin notify tests; return null; end $$`;

/**
 * Each statement commits by itself: a session that waits for the lock of one table holds no other, so no write of the
 * service can deadlock with it. The advisory lock lets one session at a time replace the function, because PostgreSQL
 * refuses two at once.
 */
const PREPARE = ["select pg_advisory_lock(4711)", FUNCTION, ...TRIGGERS, "select pg_advisory_unlock(4711)"];

/** Resolves with the rows of the query as soon as it has any. It runs at once, and after every write to lanes or submissions. */
export async function storeUntil<T>(
  databaseUrl: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<T[]> {
  const events = new EventEmitter();
  const connection = createConnection(
    { connectionString: databaseUrl },
    {
      onNotification: () => events.emit("write"),
      onLost(error = new Error("the connection was lost")) {
        if (events.listenerCount("error") > 0) events.emit("error", error);
      },
    },
  );
  await connection.connect();
  try {
    await connection.query("listen tests");
    for (const statement of PREPARE) await connection.query(statement);
    for (;;) {
      const write = once(events, "write");
      // Nobody awaits this promise if the query fails first; its rejection must not count as unhandled.
      write.catch(() => {});
      const { rows } = await connection.query<T>(sql, parameters);
      if (rows.length > 0) return rows;
      await write;
    }
  } finally {
    await connection.end();
  }
}
