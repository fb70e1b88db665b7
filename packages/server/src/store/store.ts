import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { StartError } from "../model/errors.js";
import type { Logger } from "../model/log.js";
import { type ConnectionOptions, type DatabaseAddress, openPool, type Pool } from "./database.js";
import { migrate } from "./migrate.js";
import { embeddedConnection, startEmbeddedPostgres } from "./server/embedded.js";

export type { Queryable } from "./database.js";

/** The open store. Each transition of its rows is a function in a file beside this one, and runs on `pool`. */
export interface Store {
  readonly pool: Pool;
  /** Opens a further connection, outside the pool. */
  readonly connection: ConnectionOptions;
  close(): Promise<void>;
}

/** Where the database is: behind a URL, or an embedded PostgreSQL with its files under `dataDir`. */
export interface StoreLocation {
  readonly databaseUrl?: string;
  readonly dataDir?: string;
}

const NO_LOCATION = "neither a database URL nor a data folder is set";

/**
 * Opens the store, and brings its schema up to date. With `dataDir`, it starts the embedded PostgreSQL, which `close`
 * stops.
 * @throws {@link StartError} if the database cannot be reached or its schema is newer than this program.
 */
export async function openStore(
  { databaseUrl, dataDir }: StoreLocation,
  log: Logger,
  signal?: AbortSignal,
): Promise<Store> {
  if (databaseUrl !== undefined) return connectStore({ connectionString: databaseUrl }, log);
  if (dataDir === undefined) throw new StartError(NO_LOCATION);
  await makeFolder(dataDir).catch((error: Error) => {
    throw new StartError(`the data folder ${dataDir} cannot be made: ${error.message}`);
  });
  const embedded = await startEmbeddedPostgres(dataDir, log, signal);
  return connectStore(embedded.connection, log, () => embedded.stop());
}

/**
 * Opens the store of a service that may be running: with `dataDir`, it uses the PostgreSQL that the service has started.
 * @throws {@link StartError} as {@link openStore}, and if no service runs on the data folder.
 */
export async function openRunningStore({ databaseUrl, dataDir }: StoreLocation, log: Logger): Promise<Store> {
  if (databaseUrl !== undefined) return connectStore({ connectionString: databaseUrl }, log);
  if (dataDir === undefined) throw new StartError(NO_LOCATION);
  return connectStore(await embeddedConnection(dataDir), log);
}

/** Node's recursive `mkdir` never ends where a folder exists but takes no other in it, as on /proc. */
async function makeFolder(folder: string): Promise<void> {
  const failure = await mkdir(folder).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  );
  if (failure === undefined || failure.code === "EEXIST") return;
  const parent = dirname(resolve(folder));
  if (failure.code !== "ENOENT" || existsSync(parent)) throw failure;
  await makeFolder(parent);
  await makeFolder(folder);
}

/**
 * Every query is written for an index. PostgreSQL keeps the plan of a prepared statement, so the plan must not rest on
 * a table that was empty when it was made.
 */
const CONNECTION_SETTINGS = `
  set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set jit = off;
  set default_transaction_isolation = 'read committed'`;

async function connectStore(
  address: DatabaseAddress,
  log: Logger,
  stopServer: () => Promise<void> = async () => {},
): Promise<Store> {
  const connection = { ...address, connectTimeoutMs: 3_000, applicationName: "gas-waiver" };
  let closing = false;
  const pool = openPool({
    ...connection,
    maxConnections: 10,
    settings: CONNECTION_SETTINGS,
    onIdleConnectionLost: (error) => {
      // The pool's `end` resolves before its connections are closed, and the database that stops then cuts them.
      if (!closing) log.warn({ err: error.message }, "an idle connection to the store was lost");
    },
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
