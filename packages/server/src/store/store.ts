import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, resolve } from "node:path";
import { StartError } from "../model/errors.js";
import { DEFAULTS } from "../model/options/defaults.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import type { PoolUse } from "../model/telemetry/storeMetrics.js";
import { DatabaseClock } from "./clock/databaseClock.js";
import { createIds } from "./clock/ids.js";
import {
  type ConnectionOptions,
  type DatabaseAddress,
  databaseRoute,
  onConnection,
  Pool,
  type PoolOptions,
} from "./database/database.js";
import { databaseTlsWarning, isLocalDatabase, namesTlsMode } from "./database/databaseTls.js";
import { type TroubleKind, troubleOf } from "./database/storeTrouble.js";
import { LaneFloors } from "./lanes/queue/laneFloors.js";
import { createDaysAtStart } from "./outcomes/createDays.js";
import { StoreMonitor, type TroubleParty } from "./primary/monitor.js";
import { createStoreMoves, type StoreMoves } from "./primary/moves.js";
import { assertOwnSessions } from "./primary/pooler.js";
import { readServer, watchServer } from "./primary/serverWatch.js";
import { prepareSession, type SessionOptions } from "./primary/session.js";
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

/**
 * The roles that have connections of their own, so that none can take another's: the leases of the lanes, the lanes,
 * accepting, reading for clients, administration (keys, the days of outcomes), and maintenance that takes long.
 */
export const STORE_ROLES = [
  "leases",
  "lanes",
  "accepting",
  "reading",
  "administration",
  "maintenance",
] as const;
export type StoreRole = (typeof STORE_ROLES)[number];

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

type ConnectionOption = `${"lane" | "accept" | "read" | "admin"}Connections`;

/** The most connections of each role, without those of the leases. */
export type StoreConnections = Partial<Pick<ResolvedOptions, ConnectionOption>>;

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
export async function openStore(
  options: StoreOptions,
  log: Logger,
  signal?: AbortSignal,
): Promise<OpenStore> {
  const database = await openDatabase(options, log, signal);
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
export async function openRunningStore(location: StoreLocation, log: Logger): Promise<Store> {
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
  const { pools, monitor, renew, close } = openPools(connection, settings, log, clock, () => ({
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
    const connectionUse = () => STORE_ROLES.map((role) => ({ role, ...pools[role].use() }));
    return { ...storeOf("administration"), monitor, forRole: storeOf, connectionUse };
  } catch (error) {
    await closeAll();
    if (error instanceof StartError) throw error;
    throw new StartError(`${startMessage(error as Error)}${tlsAdvice(error as Error, address)}`, {
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

/** Names this replica to whoever reads `pg_stat_activity`, which keeps 63 bytes. */
const PROCESS = `${process.pid}@${hostname()}`;

/** The time limit of the monitor's queries, in ms. After it, the database counts as silent. */
const MONITOR_ANSWER_MS = 3_000;
/** The roles that store what the service has accepted. Each of them tries again what fails. */
const WORK: ReadonlySet<StoreRole> = new Set(["leases", "lanes", "accepting"]);
/** For the one statement that takes and renews all leases. */
const LEASE_CONNECTIONS = 1;
/** For the vacuum and the counts of old days, which wait for each other. */
const MAINTENANCE_CONNECTIONS = 1;
/** The shortest time limit of a renewal, in ms. A busy database may need some hundred. */
const MIN_LEASE_ANSWER_MS = 1_000;
/** A lane's write waits at most this long for a row, so that lanes whose rows are locked leave connections to the others. */
const LANE_LOCK_TIMEOUT_MS = 2_000;

/** The time limits of roles that have their own. A renewal that gets no answer leaves time for another one. */
function roleLimits(leaseMs: number): Partial<Readonly<Record<StoreRole, RoleLimits>>> {
  const answerTimeoutMs = Math.max(MIN_LEASE_ANSWER_MS, leaseMs / 3);
  const timeouts = { answerTimeoutMs, connectTimeoutMs: answerTimeoutMs, lockTimeoutMs: answerTimeoutMs / 2 };
  return {
    leases: { ...timeouts, ownTrouble: "silent" },
    lanes: { lockTimeoutMs: LANE_LOCK_TIMEOUT_MS },
    maintenance: { ownTrouble: "busy" },
  };
}

interface RoleLimits extends SessionOptions, Pick<PoolOptions, "answerTimeoutMs" | "connectTimeoutMs"> {
  /** A trouble that this role meets while the store has none: its time limit is short, or its one connection is at long work. */
  readonly ownTrouble?: TroubleKind;
}

/** The most connections of each role. */
function poolSizes(settings: Required<StoreConnections>): Readonly<Record<StoreRole, number>> {
  return {
    leases: LEASE_CONNECTIONS,
    lanes: settings.laneConnections,
    accepting: settings.acceptConnections,
    reading: settings.readConnections,
    administration: settings.adminConnections,
    maintenance: MAINTENANCE_CONNECTIONS,
  };
}

/** Connections besides those of the roles: notifications, and the state of the database; two more for a moment at the start. */
const OTHER_CONNECTIONS = 2 + 2;

/** Returns the most connections that a store opens, those of its start among them. */
export function connectionsOf(settings: StoreConnections): number {
  const ofRoles = Object.values(poolSizes({ ...DEFAULTS, ...settings }));
  return ofRoles.reduce((sum, size) => sum + size, OTHER_CONNECTIONS);
}

function openPools(
  connection: ConnectionOptions,
  settings: typeof DEFAULTS & Pick<StoreLocation, "schema">,
  log: Logger,
  clock: DatabaseClock,
  session: () => SessionOptions,
) {
  const sizes = poolSizes(settings);
  const limits = roleLimits(settings.leaseMs);
  let closing = false;
  const open = (
    name: string,
    maxConnections: number,
    party: TroubleParty,
    { lockTimeoutMs = 0, ownTrouble, ...timeouts }: RoleLimits = {},
  ) =>
    new Pool({
      ...connection,
      ...timeouts,
      applicationName: `gas-waiver ${name} ${PROCESS}`,
      maxConnections,
      schema: settings.schema,
      prepare: (connected) => prepareSession(connected, { ...session(), lockTimeoutMs }),
      onTrouble: (trouble, error) =>
        trouble.kind === ownTrouble ? (monitor.trouble ?? trouble) : monitor.report(trouble, error, party),
      onCertificate: (end) => monitor.noteCertificate(end),
      onIdleConnectionLost: (error) => {
        // The pool's `end` resolves before its connections are closed, and the database that stops then cuts them.
        if (!closing) log.debug({ err: error.message }, "an idle connection to the store was lost");
      },
    });
  const pools = Object.fromEntries(
    STORE_ROLES.map((role) => [
      role,
      open(role, sizes[role], WORK.has(role) ? "work" : "other", limits[role]),
    ]),
  ) as Record<StoreRole, Pool>;
  // A connection of its own: those of the roles may all wait for a standby.
  const monitorPool = open("monitor", 1, "poll", { answerTimeoutMs: MONITOR_ANSWER_MS });
  const all = [...Object.values(pools), monitorPool];
  const renew = () => {
    for (const pool of all) pool.renew();
  };
  const monitor = new StoreMonitor({ db: monitorPool, clock, log, onReadOnly: renew });
  return {
    pools,
    monitor,
    renew,
    async close() {
      closing = true;
      await monitor.close();
      await Promise.all(all.map((pool) => pool.end()));
    },
  };
}

function startMessage(error: Error): string {
  const trouble = troubleOf(error);
  if (trouble === undefined) return `the database cannot be used: ${error.message}`;
  const cause = error.message === trouble.message ? "" : ` (${error.message})`;
  return `the database cannot be used: ${trouble.message}${cause}; ${trouble.advice}`;
}
