import {
  type Connection,
  createConnection,
  type DatabaseAddress,
  databaseRoute,
} from "../store/database/database.js";
import { databaseTlsWarning } from "../store/database/databaseTls.js";
import { StoreUnavailableError, troubleNamed, troubleOf } from "../store/database/storeTrouble.js";
import { readServerFacts, type StoreRequirements, troubleIn, weaknessesIn } from "../store/primary/facts.js";
import { assertOwnSessions } from "../store/primary/pooler.js";
import { embeddedConnection } from "../store/server/embedded.js";
import type { DatabaseLocation } from "../store/store.js";
import { checkStore, type ExpectedStore } from "./checkStore.js";
import { type DatabaseFinding, notProven, ok, refuses, warning } from "./finding.js";

/** The oldest major version of PostgreSQL whose features the store uses. */
const OLDEST_VERSION = 15;
const CONNECT_MS = 3_000;
/** A larger difference of the clocks moves the times in records and the ends of keys visibly. */
const MAX_SKEW_MS = 2_000;

export interface DatabaseRequirements extends StoreRequirements {
  /** The connections that a replica opens at its start. Without it, they are not compared with those that the server has. */
  readonly connections?: number;
}

/**
 * Checks the database that a service would use and the stores in it, by reads alone. An embedded PostgreSQL is checked where
 * a service runs it.
 * @param stores the stores of the service's networks.
 * @example
 * ```ts
 * const findings = await checkDatabase({ databaseUrl }, { requireSynchronousStandby: false }, [{ chainId: 988 }]);
 * const starts = findings.every(({ verdict }) => verdict !== "refuses");
 * ```
 */
export async function checkDatabase(
  { databaseUrl, dataDir }: DatabaseLocation,
  { connections, ...requirements }: DatabaseRequirements,
  stores: readonly ExpectedStore[] = [{}],
): Promise<DatabaseFinding[]> {
  let address: DatabaseAddress;
  let connection: Connection;
  let tlsWarning: string | undefined;
  try {
    address =
      databaseUrl === undefined ? await embeddedConnection(dataDir ?? "") : { connectionString: databaseUrl };
  } catch {
    return [notRunning(dataDir)];
  }
  try {
    tlsWarning = databaseTlsWarning(databaseRoute(address));
    connection = createConnection({
      ...address,
      connectTimeoutMs: CONNECT_MS,
      applicationName: "gas-waiver check",
    });
    await connection.connect();
  } catch (error) {
    return [unreachable(error as Error)];
  }
  try {
    return [
      ok("answers", "a connection is open"),
      ...(tlsWarning === undefined ? [] : [warning("encryption" as const, { found: tlsWarning })]),
      ...(await checkServer(connection)),
      ...(await checkStores(connection, stores)),
      await checkSessions(connection, address),
      ...(connections === undefined ? [] : [await checkConnections(connection, connections)]),
      ...(await checkDurability(connection, requirements)),
    ];
  } catch (error) {
    return [unreachable(error as Error)];
  } finally {
    await connection.end().catch(() => {});
  }
}

function notRunning(dataDir: string | undefined): DatabaseFinding {
  return notProven("answers", {
    found: `no service runs on the data folder ${dataDir}`,
    means: "the embedded PostgreSQL starts with the service, and could not be looked at",
  });
}

function unreachable(error: Error): DatabaseFinding {
  const trouble = troubleOf(error);
  return refuses("answers", {
    found: error.message,
    means: trouble?.message ?? "the store cannot be opened",
    remedy: trouble?.advice ?? "see whether PostgreSQL runs and whether the URL leads to it",
  });
}

interface ServerRow {
  readonly version: number;
  readonly now: number;
}

const SERVER = `
  select current_setting('server_version_num')::int as version,
         (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;

async function checkServer(connection: Connection): Promise<DatabaseFinding[]> {
  const before = Date.now();
  const { rows } = await connection.query<ServerRow>(SERVER);
  const after = Date.now();
  const [row] = rows;
  if (row === undefined) throw new Error("the database did not describe itself");
  return [checkVersion(row.version), checkClock(row.now, before, after)];
}

/** One after the other, because a connection runs one query at a time. */
async function checkStores(
  connection: Connection,
  stores: readonly ExpectedStore[],
): Promise<DatabaseFinding[]> {
  const findings: DatabaseFinding[] = [];
  for (const store of stores) findings.push(...(await checkStore(connection, store)));
  return findings;
}

function checkVersion(number: number): DatabaseFinding {
  const major = Math.floor(number / 10_000);
  const found = `PostgreSQL ${major}.${number % 10_000}`;
  if (major >= OLDEST_VERSION) return ok("version", found);
  return refuses("version", {
    found,
    means: "the store's tables need features of newer versions",
    remedy: `use PostgreSQL ${OLDEST_VERSION} or newer`,
  });
}

/** The database's clock was read between the two moments. */
function checkClock(now: number, before: number, after: number): DatabaseFinding {
  const skew = now < before ? before - now : Math.max(0, now - after);
  const found = `${Math.round(skew)} ms from this machine's`;
  if (skew <= MAX_SKEW_MS) return ok("clock", found);
  return warning("clock", {
    found,
    means: "times in records, the ends of keys and the days of outcomes follow the database's clock",
    remedy: "let NTP set both clocks",
  });
}

async function checkSessions(connection: Connection, address: DatabaseAddress): Promise<DatabaseFinding> {
  try {
    await assertOwnSessions(connection, { ...address, connectTimeoutMs: CONNECT_MS });
    return ok("sessions", "each connection keeps its session");
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const { message: found, advice: remedy } = error.trouble;
    return refuses("sessions", { found, means: "locks and settings would be lost", remedy });
  }
}

const CONNECTIONS = `
  select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true), '0')::int as "ofServer",
         nullif(r.rolconnlimit, -1) as "ofRole", nullif(d.datconnlimit, -1) as "ofDatabase"
  from pg_roles r, pg_database d where r.rolname = current_user and d.datname = current_database()`;

interface ConnectionLimits {
  readonly ofServer: number;
  readonly ofRole: number | null;
  readonly ofDatabase: number | null;
}

/** Compares the connections that a replica opens with those that the server, this role or this database may have. */
async function checkConnections(connection: Connection, needed: number): Promise<DatabaseFinding> {
  const [limits] = (await connection.query<ConnectionLimits>(CONNECTIONS)).rows;
  const { ofServer = 0, ofRole, ofDatabase } = limits ?? {};
  const named = [
    { limit: ofServer, kind: "connections" },
    { limit: ofRole ?? Number.POSITIVE_INFINITY, kind: "roleLimit" },
    { limit: ofDatabase ?? Number.POSITIVE_INFINITY, kind: "databaseLimit" },
  ] as const;
  const least = named.reduce((a, b) => (b.limit < a.limit ? b : a));
  const found = `${least.limit} for this role, of which a replica takes ${needed}`;
  const remedy = `${troubleNamed(least.kind).advice}; or lower --lane-connections and its like`;
  if (least.limit < needed)
    return refuses("connections", { found, means: "a replica would not get all of its connections", remedy });
  if (least.limit >= 2 * needed) return ok("connections", found);
  return warning("connections", {
    found,
    means: "a second replica, or an upgrade beside this one, has no room",
    remedy,
  });
}

async function checkDurability(
  connection: Connection,
  requirements: StoreRequirements,
): Promise<DatabaseFinding[]> {
  const facts = await readServerFacts(connection);
  const trouble = troubleIn(facts, requirements);
  const findings: DatabaseFinding[] = weaknessesIn(facts).map((found) =>
    warning("durability", { found, means: "what was accepted can be lost" }),
  );
  if (trouble !== undefined) {
    const { message: found, advice: remedy } = trouble;
    findings.unshift(refuses("durability", { found, means: "nothing can be stored durably now", remedy }));
  }
  if (findings.length > 0) return findings;
  const found = facts.synchronous ? "commits wait for a standby" : "commits wait for the disk of one server";
  return [ok("durability", found)];
}
