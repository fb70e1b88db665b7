import { hostname } from "node:os";
import { DEFAULTS, type ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import type { DatabaseClock } from "./clock/databaseClock.js";
import { type ConnectionOptions, Pool, type PoolOptions } from "./database/database.js";
import type { TroubleKind } from "./database/storeTrouble.js";
import { StoreMonitor, type TroubleParty } from "./primary/monitor.js";
import { prepareSession, type SessionOptions } from "./primary/session.js";

/**
 * The roles that have connections of their own, so that none can take another's: the leases of the lanes, the lanes,
 * accepting, reading for clients, administration (keys, the days of outcomes), and maintenance that takes long.
 */
const STORE_ROLES = ["leases", "lanes", "accepting", "reading", "administration", "maintenance"] as const;
export type StoreRole = (typeof STORE_ROLES)[number];

type ConnectionOption = `${"lane" | "accept" | "read" | "admin"}Connections`;

/** The most connections of each role, without those of the leases. */
export type StoreConnections = Partial<Pick<ResolvedOptions, ConnectionOption>>;

/** Names this replica to whoever reads `pg_stat_activity`, which keeps 63 bytes. */
export const PROCESS = `${process.pid}@${hostname()}`;

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

/** Opens the connections of all roles, and the monitor of the database, which has one of its own. */
export function openPools(
  connection: ConnectionOptions,
  settings: typeof DEFAULTS & { readonly schema?: string },
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
    connectionUse: () => STORE_ROLES.map((role) => ({ role, ...pools[role].use() })),
    async close() {
      closing = true;
      await monitor.close();
      await Promise.all(all.map((pool) => pool.end()));
    },
  };
}
