import { TLSSocket } from "node:tls";
import pg from "pg";
import {
  cutAfterCancelledSync,
  cutSilentConnections,
  cutWhenReadOnly,
  SafeClient,
  socketOf,
} from "./brokenConnections.js";
import { type DatabaseRoute, isLocalDatabase, namesTlsMode } from "./databaseTls.js";
import { type DriverPhase, driverTrouble } from "./driverTrouble.js";
import { type StoreTrouble, StoreUnavailableError, troubleNamed } from "./storeTrouble.js";

// This file, brokenConnections.ts and driverTrouble.ts are the only ones of the service that know the PostgreSQL driver.

/** One SQL statement. A connection plans a named statement once, and keeps the plan. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
  /** The parsers of the values in the rows, if they are not the driver's. */
  readonly types?: typeof BIGINT_TYPES;
}

const BIGINT_OIDS: readonly number[] = [pg.types.builtins.INT8, pg.types.builtins.NUMERIC];

/** Parsers for rows of which each `bigint` and `numeric` is a whole number. */
export const BIGINT_TYPES = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    BIGINT_OIDS.includes(oid) ? BigInt : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

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

/** A connection that the caller has for itself until it releases it. Users of the package need no types of the driver for it. */
export interface PooledConnection extends Queryable {
  /** Gives the connection back to the pool; with `destroy`, closes it, which rolls back an open transaction. */
  release(destroy?: boolean): void;
}

/** The address of a database: a URL, or a Unix socket's folder with a user and a database. */
export interface DatabaseAddress {
  readonly connectionString?: string;
  readonly host?: string;
  readonly user?: string;
  readonly password?: string;
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

/** The time without a byte after which the system asks whether the other end of a connection is still there, in ms. */
const KEEPALIVE_MS = 10_000;

/**
 * Statements with which the server asks as soon after its clients. By default it asks after two hours: until then the sessions of a machine
 * that is gone, or was cut off for minutes, keep their locks and the server's connections. A Unix socket needs none of it. A session that
 * is only idle stays: who listens for notifications would miss those until the next connection.
 */
export const END_LOST_SESSION = `set tcp_keepalives_idle = ${KEEPALIVE_MS / 1_000}; set tcp_keepalives_interval = 1;
  set tcp_keepalives_count = 10; set tcp_user_timeout = '20s';
  set idle_session_timeout = 0`;

function driverConfig({ connectTimeoutMs, applicationName, ...address }: ConnectionOptions): pg.ClientConfig {
  const { connectionString } = address;
  return {
    ...address,
    // A server that is gone without a word is noticed after twenty seconds, also by a connection that only listens: Node sends ten
    // probes, one a second.
    ...{ keepAlive: true, keepAliveInitialDelayMillis: KEEPALIVE_MS },
    // The driver connects without TLS unless it is told otherwise.
    ...(connectionString !== undefined &&
      !namesTlsMode(connectionString) &&
      !isLocalDatabase(routeOf({ connectionString })) && { ssl: true }),
    ...(connectTimeoutMs !== undefined && { connectionTimeoutMillis: connectTimeoutMs }),
    ...(applicationName !== undefined && { application_name: applicationName }),
  };
}

/** @returns the route that connections to this address take, as the driver reads it. */
export function databaseRoute(address: DatabaseAddress): DatabaseRoute {
  return routeOf(driverConfig(address));
}

function routeOf(config: pg.ClientConfig): DatabaseRoute {
  const { host, ssl } = new pg.Client(config) as unknown as { host: string; ssl: DatabaseRoute["ssl"] };
  return { host, ssl };
}

/** The connections of a pool at one moment. */
export interface PoolUse {
  readonly busy: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

export interface PoolOptions extends ConnectionOptions {
  readonly maxConnections: number;
  /** The schema that `prepare` selects. Locks and channels follow from it. */
  readonly schema?: string | undefined;
  /** Runs first on each new connection. If it rejects, the connection is closed. */
  readonly prepare?: (connection: Queryable) => Promise<void>;
  /** The time that a query may go without a byte from the database, in ms; by default 10 s. */
  readonly answerTimeoutMs?: number;
  /** Called with the end of the certificate that the database shows on a new connection with TLS. */
  readonly onCertificate?: (end: Date) => void;
  /** Called when a connection that nobody uses is lost. */
  readonly onIdleConnectionLost?: (error: Error) => void;
  /** Called with each trouble. @returns the trouble to name instead, if the callee knows more. */
  readonly onTrouble?: (trouble: StoreTrouble, error: Error) => StoreTrouble;
}

/**
 * A pool, which connects when it is first used. Queries reject with a {@link StoreUnavailableError} if the database
 * cannot work, and with the driver's error if the database refuses the statement.
 */
export class Pool implements Queryable {
  /** The schema that its connections work in; undefined until it is known to which one the role's search path leads. */
  schema?: string | undefined;
  readonly #options: PoolOptions;
  readonly #retired = new Set<Promise<void>>();
  /** Callbacks of those who wait for a connection, to be called when it has to be another pool's. */
  readonly #waiting = new Set<() => void>();
  #pool: pg.Pool;

  constructor(options: PoolOptions) {
    this.schema = options.schema;
    this.#options = options;
    this.#pool = createDriverPool(options);
  }

  /**
   * Runs a statement on any connection, which it keeps if the statement loses to a competitor. The driver's own `query` closes it
   * then: a new connection takes as long as some forty short statements, and plans all of them again.
   */
  async query<Row = Record<string, unknown>>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    const connection = await this.connect();
    try {
      const result = await connection.query<Row>(statement, values);
      connection.release();
      return result;
    } catch (error) {
      connection.release(!isRefusal(error));
      throw error;
    }
  }

  async connect(): Promise<PooledConnection> {
    try {
      const client = await this.#connect();
      return new DriverConnection(client, (error) => this.#toStoreError(error, "query"));
    } catch (error) {
      throw this.#toStoreError(error, "connect");
    }
  }

  /** Waits for a connection. The driver's pool leaves whoever waits without one when it ends. */
  #connect(): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => {
      const again = () => void this.#connect().then(resolve, reject);
      this.#waiting.add(again);
      this.#pool.connect().then(
        (client) => (this.#waiting.delete(again) ? resolve(client) : client.release(true)),
        (error) => this.#waiting.delete(again) && reject(error),
      );
    });
  }

  use(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  /** Makes new connections from now on; those that are in use close when they are released. */
  renew(): void {
    const retired = this.#pool
      .end()
      .catch(() => {})
      .then(() => void this.#retired.delete(retired));
    this.#retired.add(retired);
    this.#pool = createDriverPool(this.#options);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const again of waiting) again();
  }

  async end(): Promise<void> {
    await Promise.all([this.#pool.end(), ...this.#retired]);
  }

  #toStoreError(error: unknown, phase: DriverPhase): unknown {
    const kind = driverTrouble(error, phase);
    if (kind === undefined) return error;
    const { message } = error as Error;
    // The driver has one message for a pool without a free connection and for a server that does not answer.
    const isBusy = kind === "silent" && this.use().busy >= this.#options.maxConnections;
    const named = troubleNamed(isBusy && /trying to connect/.test(message) ? "busy" : kind);
    const known = this.#options.onTrouble?.(named, error as Error) ?? named;
    return new StoreUnavailableError(known, message, { cause: error });
  }
}

/**
 * The SQLSTATEs of what competes: the functions of the schema, constraints, deadlocks, locks, and a queue of notifications that another
 * program keeps full. After others a connection is closed, as the session may be over or keep a plan that no longer fits.
 */
const REFUSALS = /^(?:GW|23|40P01|54000|55P03)/;

/**
 * Whether the database has refused a statement, and the session goes on. The severity is in the server's language: in another one
 * than English, every connection whose statement fails is closed.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === "ERROR" && REFUSALS.test(error.code ?? "");
}

class DriverConnection implements PooledConnection {
  readonly client: pg.PoolClient;
  readonly #toStoreError: (error: unknown) => unknown;

  constructor(client: pg.PoolClient, toStoreError: (error: unknown) => unknown) {
    this.client = client;
    this.#toStoreError = toStoreError;
  }

  async query<Row>(statement: string | Statement, values?: readonly unknown[]): Promise<QueryResult<Row>> {
    try {
      return await (this.client as unknown as Queryable).query<Row>(statement, values);
    } catch (error) {
      throw this.#toStoreError(error);
    }
  }

  release(destroy?: boolean): void {
    this.client.release(destroy);
  }
}

function createDriverPool({
  maxConnections,
  prepare,
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
  onIdleConnectionLost = () => {},
  onCertificate = () => {},
  ...options
}: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...driverConfig(options),
    Client: SafeClient,
    max: maxConnections,
    ...(prepare !== undefined && {
      onConnect: (client: pg.ClientBase) => prepare(withQueryTimeout(client, answerTimeoutMs)),
    }),
  });
  cutSilentConnections(pool, answerTimeoutMs);
  // A connection that is lost inside a transaction fails its query, or the next one. Without a listener, the
  // driver's `error` event would end the process.
  pool.on("connect", (client) => {
    client.on("error", () => {}).on("notice", (notice) => cutAfterCancelledSync(client, notice));
    cutWhenReadOnly(client);
    const socket = socketOf(client);
    // A connection that is lost at this moment has no certificate any more.
    const end = socket instanceof TLSSocket ? socket.getPeerCertificate()?.valid_to : undefined;
    if (end !== undefined) onCertificate(new Date(end));
  });
  pool.on("error", onIdleConnectionLost);
  return pool;
}

/** `cutSilentConnections` covers only connections in use. Queries on a new one have the driver's timeout instead. */
function withQueryTimeout(client: pg.ClientBase, timeoutMs: number): Queryable {
  return {
    query: (statement, values) => {
      const config = typeof statement === "string" ? { text: statement } : statement;
      const query = { ...config, ...(values && { values: [...values] }), query_timeout: timeoutMs };
      return client.query(query as unknown as pg.QueryConfig) as never;
    },
  };
}

/** Lets a pooled connection wait this long for each answer; without `timeoutMs`, for the default time again. */
export function setAnswerTimeout(connection: PooledConnection, timeoutMs = ANSWER_TIMEOUT_MS): void {
  socketOf((connection as DriverConnection).client).setTimeout(timeoutMs);
}

/** A connection outside the pool. */
export interface Connection extends Queryable {
  connect(): Promise<void>;
  /** The number of the process that serves the connection, as it was named at the login; undefined if none was. */
  serverProcess(): number | undefined;
  end(): Promise<void>;
}

export interface ConnectionEvents {
  /** The connection failed or ended. It may be called more than once. */
  onLost?(error?: Error): void;
  /** A notification came on a channel that the connection listens to. */
  onNotification?(channel: string, payload: string): void;
}

/** Runs work on a connection of its own, which ends with the work. It rejects as a pool's connections do. */
export async function onConnection<T>(
  options: ConnectionOptions,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = createConnection(options);
  try {
    await connection.connect();
    return await work(connection);
  } finally {
    await connection.end().catch(() => {});
  }
}

/** Makes a connection of its own; it is open when `connect` has resolved. It rejects as a pool's connections do. */
export function createConnection(options: ConnectionOptions, events: ConnectionEvents = {}): Connection {
  const client = new SafeClient(driverConfig(options));
  client.on("error", (error) => events.onLost?.(error));
  client.on("end", () => events.onLost?.());
  client.on("notification", ({ channel, payload = "" }) => events.onNotification?.(channel, payload));
  const named = (phase: DriverPhase) => (error: Error) => {
    const kind = driverTrouble(error, phase);
    throw kind ? new StoreUnavailableError(troubleNamed(kind), error.message, { cause: error }) : error;
  };
  const { query } = client as unknown as Queryable;
  return {
    connect: () => client.connect().then(() => {}, named("connect")),
    serverProcess: () => (client as unknown as { readonly processID?: number | null }).processID ?? undefined,
    query: (statement, values) => query.call(client, statement, values).catch(named("query")) as never,
    end: () => client.end(),
  };
}
