import { EventEmitter, once } from "node:events";
import { type Connection, createConnection } from "../../src/store/database/database.js";
import { StoreUnavailableError } from "../../src/store/database/storeTrouble.js";

// The tests' own sessions in the databases of services. A session costs PostgreSQL as much as some hundred statements, so a test
// keeps those that it has opened.

/** Notify the channel `tests` after every statement that inserts or updates lanes or submissions. */
const TRIGGERS = ["lanes", "unfinished", "finished"].map(
  (table) => `create or replace trigger notify_tests after insert or update on ${table}
    for each statement execute function notify_tests()`,
);
const FUNCTION = `create or replace function notify_tests() returns trigger language plpgsql as
  $$ begin notify tests; return null; end $$`;

/**
 * Makes a database tell its writes. The template of the tests' databases does; another one learns it from the first session that waits.
 * Each statement commits by itself: a session that waits for the lock of one table holds no other, so no write of the
 * service can deadlock with it. The advisory lock lets one session at a time replace the function, because PostgreSQL
 * refuses two at once.
 */
export const TELL_WRITES = [
  "select pg_advisory_lock(4711)",
  FUNCTION,
  ...TRIGGERS,
  "select pg_advisory_unlock(4711)",
];

interface Session extends Connection {
  readonly events: EventEmitter;
  isLost: boolean;
  isListening: boolean;
}

/** The sessions that nobody uses now, by the URL of their database. */
const free = new Map<string, Session[]>();

/** Runs SQL on a database in a session that no other caller uses meanwhile. */
export async function queryOnce<T>(databaseUrl: string, sql: string, parameters: readonly unknown[] = []) {
  return await inSession(databaseUrl, async (session) => (await session.query<T>(sql, parameters)).rows);
}

/** Resolves with the rows of the query as soon as it has any. It runs at once, and after every write to lanes or submissions. */
export async function queryUntil<T>(databaseUrl: string, sql: string, parameters: readonly unknown[] = []) {
  return await inSession(databaseUrl, async (session) => {
    if (!session.isListening) await listen(session);
    const over = new AbortController();
    try {
      for (;;) {
        const write = once(session.events, "write", { signal: over.signal });
        // Nobody awaits this promise if the query fails first; its rejection must not count as unhandled.
        write.catch(() => {});
        const { rows } = await session.query<T>(sql, parameters);
        if (rows.length > 0) return rows;
        await write;
      }
    } finally {
      over.abort();
    }
  });
}

/** Ends the sessions that nobody uses. */
export async function endSessions(databaseUrl: string): Promise<void> {
  const sessions = free.get(databaseUrl) ?? [];
  free.delete(databaseUrl);
  await Promise.all(sessions.map((session) => session.end()));
}

async function listen(session: Session): Promise<void> {
  const { rows } = await session.query("select from pg_proc where proname = 'notify_tests'");
  for (const statement of rows.length === 0 ? TELL_WRITES : []) await session.query(statement);
  await session.query("listen tests");
  session.isListening = true;
}

async function inSession<T>(databaseUrl: string, run: (session: Session) => Promise<T>): Promise<T> {
  const kept = free.get(databaseUrl)?.pop();
  const session = kept ?? (await openSession(databaseUrl));
  try {
    return await run(session);
  } catch (error) {
    if (error instanceof StoreUnavailableError) session.isLost = true;
    // The database may have ended the session while nobody used it.
    if (kept?.isLost) return await inSession(databaseUrl, run);
    throw error;
  } finally {
    if (!session.isLost) free.set(databaseUrl, [...(free.get(databaseUrl) ?? []), session]);
  }
}

async function openSession(databaseUrl: string): Promise<Session> {
  const events = new EventEmitter();
  const connection = createConnection(
    { connectionString: databaseUrl },
    {
      onNotification: () => events.emit("write"),
      onLost(error = new Error("the connection was lost")) {
        session.isLost = true;
        free.set(
          databaseUrl,
          (free.get(databaseUrl) ?? []).filter((one) => one !== session),
        );
        if (events.listenerCount("error") > 0) events.emit("error", error);
      },
    },
  );
  const session: Session = Object.assign(connection, { events, isLost: false, isListening: false });
  await session.connect();
  return session;
}
