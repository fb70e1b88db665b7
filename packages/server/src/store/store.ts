import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import pg, { type QueryConfig } from "pg";
import { StartError } from "../model/errors.js";
import type { Logger } from "../model/log.js";
import { migrate } from "./migrate.js";
import { embeddedConnection, startEmbeddedPostgres } from "./server/embedded.js";
import { ANSWER_MS, limitSilence } from "./socketTimeout.js";

/** A connection to run queries on: the pool, or one client inside a transaction. */
export type Queryable = Pick<pg.Pool, "query">;

/** The open store. Queries go through `pool`; each transition has a file of its own beside this one. */
export interface Store {
  readonly pool: pg.Pool;
  /** For a connection beside the pool's. */
  readonly connection: pg.ClientConfig;
  close(): Promise<void>;
}

/**
 * Opens the store: the database of `databaseUrl`, or an embedded PostgreSQL under `dataDir`; its schema is
 * brought up to date.
 * @throws {@link StartError} if the database cannot be reached or its schema is newer than this program.
 */
export async function openStore(
  options: { readonly databaseUrl?: string; readonly dataDir?: string },
  log: Logger,
  signal?: AbortSignal,
): Promise<Store> {
  const { databaseUrl, dataDir } = options;
  if (databaseUrl !== undefined) return connectStore({ connectionString: databaseUrl }, log);
  if (dataDir === undefined) throw new StartError("neither a database URL nor a data folder is set");
  await makeFolder(dataDir).catch((error: Error) => {
    throw new StartError(`the data folder ${dataDir} cannot be made: ${error.message}`);
  });
  const embedded = await startEmbeddedPostgres(dataDir, log, signal);
  return connectStore(embedded.connection, log, () => embedded.stop());
}

/** Node's own recursive mkdir never ends where a folder is there but takes no other in it (nodejs on /proc). */
async function makeFolder(folder: string): Promise<void> {
  const missing = await mkdir(folder).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  );
  if (missing === undefined || missing.code === "EEXIST") return;
  const parent = dirname(resolve(folder));
  if (missing.code !== "ENOENT" || existsSync(parent)) throw missing;
  await makeFolder(parent);
  await makeFolder(folder);
}

/** Where the store of a service is: a database URL, or the data folder of a service that runs. */
export interface StorePlace {
  readonly databaseUrl?: string;
  readonly dataDir?: string;
}

/** @throws {@link StartError} if no service runs on the data folder. */
export async function storeConnection({ databaseUrl, dataDir }: StorePlace): Promise<pg.PoolConfig> {
  if (databaseUrl !== undefined) return { connectionString: databaseUrl };
  if (dataDir === undefined) throw new StartError("neither a database URL nor a data folder is set");
  return embeddedConnection(dataDir);
}

/**
 * Every query is written for an index. A plan is made once and kept, from statistics of whatever moment, so it must
 * not rest on a table having been empty then.
 */
const CONNECTION_SETTINGS = `
  set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set jit = off;
  set default_transaction_isolation = 'read committed'`;

/** Connects to a database that runs, and brings its schema up to date. */
export async function connectStore(
  config: pg.PoolConfig,
  log: Logger,
  stopServer: () => Promise<void> = async () => {},
): Promise<Store> {
  const connection = { ...config, connectionTimeoutMillis: 3_000, application_name: "gas-waiver" };
  const pool = new pg.Pool({
    ...connection,
    max: 10,
    onConnect: (client) =>
      client.query({ text: CONNECTION_SETTINGS, query_timeout: ANSWER_MS } as QueryConfig),
  });
  limitSilence(pool);
  // A connection that is lost inside a transaction says so to the query, or to the next; unheard, it would end us.
  pool.on("connect", (client) => client.on("error", () => {}));
  let closing = false;
  // The pool ends before its connections do: what the stopping database says to them is no news.
  pool.on("error", (error) => {
    if (!closing) log.warn({ err: error.message }, "an idle connection to the store was lost");
  });
  const close = async () => {
    closing = true;
    await pool.end();
    await stopServer();
  };
  try {
    await migrate(pool);
    return { pool, connection, close };
  } catch (error) {
    await close();
    if (error instanceof StartError) throw error;
    throw new StartError(`the database cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** True if the store did not answer, rather than refuse a query: the network, a restart, or a time-out. */
export function isStoreUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  // Classes 08 (connection), 53 (resources: disk full, too many connections), 57 (operator intervention).
  if (typeof code === "string" && /^(08|53|57)...$/.test(code)) return true;
  if (typeof code === "string" && /^E[A-Z]+$/.test(code)) return true;
  return /connection terminated|timeout|Query read timeout|Cannot use a pool|Client has encountered/i.test(
    error.message,
  );
}
