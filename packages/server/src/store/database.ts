import type { Socket } from "node:net";
import pg from "pg";

// The only file of the service that knows the PostgreSQL driver.

/** One SQL statement. A connection plans a named statement once, and keeps the plan. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** `bigint` and `numeric` columns arrive as text, `bytea` as `Buffer`, `timestamptz` as `Date`, or as an infinite number. */
export interface QueryResult<Row> {
  readonly rows: Row[];
  /** How many rows the statement returned or changed; null for a command such as `begin`. */
  readonly rowCount: number | null;
}

/** Runs queries: the pool on any of its connections, a connection inside its open transaction. */
export interface Queryable {
  query<Row = Record<string, unknown>>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>;
}

/** A connection that the caller has for itself until it releases it. */
export interface PooledConnection extends Queryable {
  /** Gives the connection back to the pool; with `destroy`, closes it, which rolls back an open transaction. */
  release(destroy?: boolean): void;
}

export interface Pool extends Queryable {
  connect(): Promise<PooledConnection>;
  end(): Promise<void>;
}

/** The address of a database: a URL, or a Unix socket's folder with a user and a database. */
export interface DatabaseAddress {
  readonly connectionString?: string;
  readonly host?: string;
  readonly user?: string;
  readonly database?: string;
}

export interface ConnectionOptions extends DatabaseAddress {
  /** The time limit of connecting, in ms. If undefined, the operating system sets it. */
  readonly connectTimeoutMs?: number;
  /** The name in `pg_stat_activity`, unless the URL has one. */
  readonly applicationName?: string;
}

/** The time that a query may go without a byte from the database, in ms. */
const ANSWER_TIMEOUT_MS = 10_000;

function driverConfig({ connectTimeoutMs, applicationName, ...address }: ConnectionOptions): pg.ClientConfig {
  return {
    ...address,
    ...(connectTimeoutMs !== undefined && { connectionTimeoutMillis: connectTimeoutMs }),
    ...(applicationName !== undefined && { application_name: applicationName }),
  };
}

export interface PoolOptions extends ConnectionOptions {
  readonly maxConnections: number;
  /** SQL that each new connection runs first. */
  readonly settings?: string;
  /** The time that a query may go without a byte from the database, in ms; by default 10 s. */
  readonly answerTimeoutMs?: number;
  /** Called when a connection that nobody uses is lost. */
  readonly onIdleConnectionLost?: (error: Error) => void;
}

/** Makes a pool; it connects when it is first used. */
export function openPool({
  maxConnections,
  settings,
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
  onIdleConnectionLost = () => {},
  ...options
}: PoolOptions): Pool {
  const pool = new pg.Pool({
    ...driverConfig(options),
    max: maxConnections,
    ...(settings !== undefined && {
      onConnect: (client: pg.ClientBase) =>
        client.query({ text: settings, query_timeout: answerTimeoutMs } as pg.QueryConfig),
    }),
  });
  limitSilence(pool, answerTimeoutMs);
  // A connection that is lost inside a transaction fails its query, or the next one. Without a listener, the
  // driver's `error` event would end the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  pool.on("error", onIdleConnectionLost);
  return pool as unknown as Pool;
}

/**
 * Cuts a connection that is in use and on which no byte has come or gone for `timeoutMs`; its query fails. This
 * replaces the driver's own `query_timeout`, which makes a timer for each query: those timers kept dead objects alive
 * until a major collection, half of all that a busy service left to it.
 */
function limitSilence(pool: pg.Pool, timeoutMs: number): void {
  const inUse = new WeakSet<pg.PoolClient>();
  pool.on("connect", (client) => {
    const socket = socketOf(client);
    socket.setTimeout(timeoutMs);
    socket.on("timeout", () => {
      if (!inUse.has(client)) return;
      socket.destroy(new Error(`the database gave no answer in time: timeout of ${timeoutMs} ms`));
    });
  });
  pool.on("acquire", (client) => inUse.add(client));
  pool.on("release", (_, client) => inUse.delete(client));
}

/** Lets a pooled connection wait this long for each answer; without `timeoutMs`, for the default time again. */
export function setAnswerTimeout(connection: PooledConnection, timeoutMs = ANSWER_TIMEOUT_MS): void {
  socketOf(connection).setTimeout(timeoutMs);
}

/** The driver's stream is the socket itself once the connection is made, with TLS or without. */
function socketOf(connection: unknown): Socket {
  return (connection as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

/** A connection outside the pool. */
export interface Connection extends Queryable {
  connect(): Promise<void>;
  end(): Promise<void>;
}

export interface ConnectionEvents {
  /** The connection failed or ended. It may be called more than once. */
  onLost?(error?: Error): void;
  /** A notification came on a channel that the connection listens to. */
  onNotification?(channel: string, payload: string): void;
}

/** Makes a connection of its own; it is open when `connect` has resolved. */
export function createConnection(options: ConnectionOptions, events: ConnectionEvents = {}): Connection {
  const client = new pg.Client(driverConfig(options));
  client.on("error", (error) => events.onLost?.(error));
  client.on("end", () => events.onLost?.());
  client.on("notification", ({ channel, payload = "" }) => events.onNotification?.(channel, payload));
  return client as unknown as Connection;
}

/**
 * True if the database did not answer, because of the network, a restart or a time-out. False if it answered with a
 * refusal of the query.
 */
export function isStoreUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  // SQLSTATE classes 08 (connection), 53 (resources: disk full, too many connections), 57 (operator intervention).
  if (typeof code === "string" && /^(08|53|57)...$/.test(code)) return true;
  // The operating system's codes, such as ECONNREFUSED.
  if (typeof code === "string" && /^E[A-Z]+$/.test(code)) return true;
  return /connection terminated|timeout|Query read timeout|Cannot use a pool|Client has encountered/i.test(
    error.message,
  );
}
