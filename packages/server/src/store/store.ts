import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { StartError } from "../model/errors.js";
import { DEFAULTS, type ResolvedOptions } from "../model/options/options.js";
import { createLog, type Logger } from "../model/telemetry/log.js";
import { DatabaseClock } from "./clock/databaseClock.js";
import { createIds } from "./clock/ids.js";
import {
  type ConnectionOptions,
  type DatabaseAddress,
  databaseRoute,
  onConnection,
  type Pool,
  type PoolUse,
} from "./database/database.js";
import { databaseTlsWarning, isLocalDatabase, namesTlsMode } from "./database/databaseTls.js";
import { storeTroubleSentence } from "./database/storeTrouble.js";
import { LaneFloors } from "./lanes/queue/laneFloors.js";
import { createDaysAtStart } from "./outcomes/outcomeDays.js";
import { openPools, PROCESS, type StoreConnections, type StoreRole } from "./pools.js";
import type { StoreMonitor } from "./primary/monitor.js";
import { createStoreMoves, type StoreMoves } from "./primary/moves.js";
import { assertOwnSessions } from "./primary/pooler.js";
import { readServer, watchServer } from "./primary/serverWatch.js";
import { migrate } from "./schema/migrate.js";
import { findSearchPath } from "./schema/searchPath.js";
import { embeddedConnection, startEmbeddedPostgres } from "./server/embedded.js";

export type { Queryable } from "./database/database.js";

/** The open store. Each transition of its rows is a function in a file beside this one, and runs on `pool`. */
export interface Store {
  readonly pool: Pool;
  /** Opens a further connection, outside the pool. */
  readonly connection: ConnectionOptions;
  /** Called when the database's name leads to another server, to which the pools have gone. */
  readonly onOtherServer: Set<() => void>;
  readonly moves: StoreMoves;
  readonly clock: DatabaseClock;
  /** Where the queues of the lanes begin, by this process's readings of the lanes. */
  readonly laneFloors: LaneFloors;
  /** Makes the id of a new submission. */
  readonly newId: () => string;
  close(): Promise<void>;
}

/** The opened store with the connections of all roles. Its own pool is that of administration. */
export interface OpenStore extends Store {
  readonly monitor: StoreMonitor;
  /** Returns the store with the connections of another role. */
  forRole(role: StoreRole): Store;
  /** The connections of each role at this moment. */
  connectionUse(): readonly (PoolUse & { readonly role: StoreRole })[];
}

/** Where the database is: behind a URL, or an embedded PostgreSQL with its files under `dataDir`. */
export interface DatabaseLocation {
  readonly databaseUrl?: string;
  readonly dataDir?: string;
}

/** Where the tables of the store are. */
export interface StoreLocation extends DatabaseLocation {
  /** The PostgreSQL schema of the tables; by default the first one of the role's search path, which is `public`. */
  readonly schema?: string;
}

/** A database that answers, or an embedded one that this process has started. Several stores may be in it, each in a schema. */
export interface Database {
  readonly address: DatabaseAddress;
  /** Stops the embedded PostgreSQL. */
  stop(): Promise<void>;
}

export interface StoreOptions extends StoreLocation, StoreSettings {}

/** The settings of an open store, wherever it is: options of the service. */
export interface StoreSettings
  extends StoreConnections,
    Partial<Pick<ResolvedOptions, "leaseMs" | "requireSynchronousStandby">>,
    Pick<StoreLocation, "schema"> {
  /** Whether a schema that is not there is made. Default: true. */
  readonly makesSchema?: boolean;
}
const NO_LOCATION = "neither a database URL nor a data folder is set";

/**
 * Opens the store, and brings its schema up to date. With `dataDir`, it starts the embedded PostgreSQL, which `close`
 * stops.
 * @throws {@link StartError} if the database cannot be reached or its schema is newer than this program.
 */
export async function openStore(options: StoreOptions, log: Logger): Promise<OpenStore> {
  const database = await openDatabase(options, log);
  return connectStore(database.address, options, log, database.stop);
}

/**
 * Finds the database of a service. With `dataDir`, it starts the embedded PostgreSQL.
 * @param stores the number of stores in it, for which an embedded one has connections.
 * @throws {@link StartError} if the embedded PostgreSQL does not start.
 */
export async function openDatabase(
  { databaseUrl, dataDir }: DatabaseLocation,
  log: Logger,
  signal?: AbortSignal,
  stores = 1,
): Promise<Database> {
  if (databaseUrl !== undefined) return { address: { connectionString: databaseUrl }, stop: async () => {} };
  if (dataDir === undefined) throw new StartError(NO_LOCATION);
  await makeFolder(dataDir).catch((error: Error) => {
    throw new StartError(`the data folder ${dataDir} cannot be made: ${error.message}`);
  });
  const embedded = await startEmbeddedPostgres(dataDir, log, signal, stores);
  return { address: embedded.connection, stop: () => embedded.stop() };
}

/**
 * Opens the store of a service that may be running: with `dataDir`, it uses the PostgreSQL that the service has started.
 * @throws {@link StartError} as {@link openStore}, and if no service runs on the data folder.
 */
export async function openRunningStore(
  location: StoreLocation,
  log: Logger = createLog("silent"),
): Promise<Store> {
  const { databaseUrl, dataDir, schema } = location;
  if (databaseUrl === undefined && dataDir === undefined) throw new StartError(NO_LOCATION);
  const address =
    databaseUrl === undefined ? await embeddedConnection(dataDir ?? "") : { connectionString: databaseUrl };
  return connectStore(address, schema === undefined ? {} : { schema, makesSchema: false }, log);
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
 * Opens a store in a database, and brings its schema up to date.
 * @param stopServer runs when the store has closed, or could not be opened.
 * @throws {@link StartError} as {@link openStore}.
 */
export async function connectStore(
  address: DatabaseAddress,
  options: StoreSettings,
  log: Logger,
  stopServer: () => Promise<void> = async () => {},
): Promise<OpenStore> {
  warnOfRoute(address, log);
  const connection = { ...address, connectTimeoutMs: 3_000, applicationName: `gas-waiver ${PROCESS}` };
  const clock = new DatabaseClock();
  const newId = createIds(clock);
  const laneFloors = new LaneFloors();
  const onOtherServer = new Set<() => void>();
  const settings = { ...DEFAULTS, ...options };
  let searchPath: readonly string[] = [];
  let servers: ReturnType<typeof watchServer> | undefined;
  const { pools, monitor, renew, connectionUse, close } = openPools(connection, settings, log, clock, () => ({
    requireSynchronousStandby: settings.requireSynchronousStandby,
    searchPath,
  }));
  const closeAll = async () => {
    await servers?.close();
    await close();
    await stopServer();
  };
  try {
    const server = await onConnection(connection, async (first) => {
      await assertOwnSessions(first, connection);
      searchPath = await findSearchPath(first, options.schema);
      return await readServer(first);
    });
    // Replicas that name the schema and others, whose search path leads there, must have the same locks.
    for (const pool of Object.values(pools)) pool.schema = searchPath[0];
    await migrate(pools.administration, log, options);
    await createDaysAtStart({ pool: pools.administration });
    await monitor.start(settings);
    // Records the server, so that a later start on another server is noticed.
    const moves = createStoreMoves(pools.administration, log, clock);
    await moves.hasMoved();
    servers = watchServer(connection, server, () => {
      log.warn("the database is another server now, or has restarted: all connections are made anew");
      renew();
      for (const listener of onOtherServer) listener();
    });
    const storeOf = (role: StoreRole): Store => ({
      ...{ pool: pools[role], connection, onOtherServer, moves, clock, laneFloors, newId },
      close: closeAll,
    });
    return { ...storeOf("administration"), monitor, forRole: storeOf, connectionUse };
  } catch (error) {
    await closeAll();
    if (error instanceof StartError) throw error;
    const why = storeTroubleSentence(error) ?? (error as Error).message;
    throw new StartError(`the database cannot be used: ${why}${tlsAdvice(error as Error, address)}`, {
      cause: error,
    });
  }
}

/** @throws {@link StartError} if the driver cannot read the address, such as a file of certificates that is not there. */
function warnOfRoute(address: DatabaseAddress, log: Logger): void {
  let warning: string | undefined;
  try {
    warning = databaseTlsWarning(databaseRoute(address));
  } catch (error) {
    throw new StartError(`DATABASE_URL cannot be used: ${(error as Error).message}`, { cause: error });
  }
  if (warning !== undefined) log.warn(warning);
}

/** Says what a database without TLS, or with a certificate of its own authority, needs. */
function tlsAdvice({ message }: Error, address: DatabaseAddress): string {
  const { connectionString } = address;
  if (connectionString === undefined || namesTlsMode(connectionString)) return "";
  if (isLocalDatabase(databaseRoute(address)) || !/SSL|TLS|certificate|altnames/i.test(message)) return "";
  return "; DATABASE_URL names no sslmode, so the database has to show a certificate for its name (verify-full): add sslrootcert=FILE for an authority of your own, or another sslmode";
}
