import { type Connection, createConnection, type DatabaseAddress, databaseRoute } from "../store/database.js";
import { databaseTlsWarning } from "../store/databaseTls.js";
import { newestMigration } from "../store/migrate.js";
import { readServerFacts, type StoreRequirements, troubleIn, weaknessesIn } from "../store/primary/facts.js";
import { assertOwnSessions } from "../store/primary/pooler.js";
import { embeddedConnection } from "../store/server/embedded.js";
import type { StoreLocation } from "../store/store.js";
import { StoreUnavailableError, troubleOf } from "../store/storeTrouble.js";
import type { NodeVerdict } from "./finding.js";

/** The subjects of the checks of a database. */
export type DatabaseCheck =
  | "answers"
  | "encryption"
  | "version"
  | "schema"
  | "rights"
  | "sessions"
  | "durability"
  | "clock";

/** The outcome of one check of the database. No text names a password. */
export interface DatabaseFinding {
  readonly check: DatabaseCheck;
  readonly verdict: NodeVerdict;
  readonly found: string;
  /** The consequence for the service; absent if the verdict is `ok`. */
  readonly means?: string;
  readonly remedy?: string;
}

/** The oldest major version of PostgreSQL whose features the store uses. */
const OLDEST_VERSION = 15;
const CONNECT_MS = 3_000;
/** A larger difference of the clocks moves the times in records and the ends of keys visibly. */
const MAX_SKEW_MS = 2_000;

/**
 * Checks the database that a service would use, by reads alone. An embedded PostgreSQL is checked where a service runs it.
 * @example
 * ```ts
 * const findings = await checkDatabase({ databaseUrl }, { requireSynchronousStandby: false });
 * const starts = findings.every(({ verdict }) => verdict !== "refuses");
 * ```
 */
export async function checkDatabase(
  { databaseUrl, dataDir }: StoreLocation,
  requirements: StoreRequirements,
): Promise<DatabaseFinding[]> {
  let address: DatabaseAddress;
  let connection: Connection;
  let warning: string | undefined;
  try {
    address =
      databaseUrl === undefined ? await embeddedConnection(dataDir ?? "") : { connectionString: databaseUrl };
  } catch {
    return [notRunning(dataDir)];
  }
  try {
    warning = databaseTlsWarning(databaseRoute(address));
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
      { check: "answers", verdict: "ok", found: "a connection is open" },
      ...(warning === undefined
        ? []
        : [{ check: "encryption", verdict: "warning", found: warning } as const]),
      ...(await checkServer(connection)),
      await checkSessions(address),
      ...(await checkDurability(connection, requirements)),
    ];
  } catch (error) {
    return [unreachable(error as Error)];
  } finally {
    await connection.end().catch(() => {});
  }
}

function notRunning(dataDir: string | undefined): DatabaseFinding {
  return {
    check: "answers",
    verdict: "not proven",
    found: `no service runs on the data folder ${dataDir}`,
    means: "the embedded PostgreSQL starts with the service, and could not be looked at",
  };
}

function unreachable(error: Error): DatabaseFinding {
  const trouble = troubleOf(error);
  return {
    check: "answers",
    verdict: "refuses",
    found: error.message,
    means: trouble?.message ?? "the store cannot be opened",
    remedy: trouble?.advice ?? "see whether PostgreSQL runs and whether the URL leads to it",
  };
}

interface ServerRow {
  readonly version: number;
  readonly now: number;
  readonly schema: string | null;
  readonly mayCreate: boolean | null;
  readonly hasStore: boolean;
  readonly ownsStore: boolean | null;
}

const SERVER = `
  select current_setting('server_version_num')::int as version,
         (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
         current_schema() as schema, has_schema_privilege(current_schema(), 'CREATE') as "mayCreate",
         to_regclass('migrations') is not null as "hasStore",
         (select pg_has_role(relowner, 'USAGE') from pg_class where oid = to_regclass('migrations')) as "ownsStore"`;

async function checkServer(connection: Connection): Promise<DatabaseFinding[]> {
  const before = Date.now();
  const { rows } = await connection.query<ServerRow>(SERVER);
  const after = Date.now();
  const [row] = rows;
  if (row === undefined) throw new Error("the database did not describe itself");
  return [
    checkVersion(row.version),
    await checkSchema(connection, row),
    checkRights(row),
    checkClock(row.now, before, after),
  ];
}

function checkVersion(number: number): DatabaseFinding {
  const major = Math.floor(number / 10_000);
  const found = `PostgreSQL ${major}.${number % 10_000}`;
  if (major >= OLDEST_VERSION) return { check: "version", verdict: "ok", found };
  return {
    check: "version",
    verdict: "refuses",
    found,
    means: "the store's tables need features of newer versions",
    remedy: `use PostgreSQL ${OLDEST_VERSION} or newer`,
  };
}

async function checkSchema(connection: Connection, { hasStore }: ServerRow): Promise<DatabaseFinding> {
  const newest = await newestMigration();
  if (!hasStore)
    return { check: "schema", verdict: "ok", found: "there is no store yet; the start makes it" };
  const { rows } = await connection.query<{ number: number }>(
    "select coalesce(max(number), 0) as number from migrations",
  );
  const number = rows[0]?.number ?? 0;
  if (number === newest)
    return { check: "schema", verdict: "ok", found: `number ${number}, as this program` };
  if (number < newest) {
    return { check: "schema", verdict: "ok", found: `number ${number}; the start brings it to ${newest}` };
  }
  return {
    check: "schema",
    verdict: "refuses",
    found: `number ${number}; this program knows ${newest}`,
    means: "a newer program has changed the store",
    remedy: "use that program, or a newer one",
  };
}

function checkRights({ schema, mayCreate, hasStore, ownsStore }: ServerRow): DatabaseFinding {
  if (mayCreate && (!hasStore || ownsStore)) {
    return { check: "rights", verdict: "ok", found: `the role may make tables in the schema ${schema}` };
  }
  const found = mayCreate
    ? "the tables of the store belong to another role"
    : `the role may make no tables in the schema ${schema ?? "of the search path, which is not there"}`;
  return {
    check: "rights",
    verdict: "refuses",
    found,
    means: "the store cannot be made or brought up to date",
    remedy: "let the service's role own its schema and tables",
  };
}

/** The database's clock was read between the two moments. */
function checkClock(now: number, before: number, after: number): DatabaseFinding {
  const skew = now < before ? before - now : Math.max(0, now - after);
  const found = `${Math.round(skew)} ms from this machine's`;
  if (skew <= MAX_SKEW_MS) return { check: "clock", verdict: "ok", found };
  return {
    check: "clock",
    verdict: "warning",
    found,
    means: "times in records, the ends of keys and the days of outcomes follow the database's clock",
    remedy: "let NTP set both clocks",
  };
}

async function checkSessions(address: DatabaseAddress): Promise<DatabaseFinding> {
  try {
    await assertOwnSessions({ ...address, connectTimeoutMs: CONNECT_MS });
    return { check: "sessions", verdict: "ok", found: "each connection keeps its session" };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const { message: found, advice: remedy } = error.trouble;
    return {
      check: "sessions",
      verdict: "refuses",
      found,
      means: "locks and settings would be lost",
      remedy,
    };
  }
}

async function checkDurability(
  connection: Connection,
  requirements: StoreRequirements,
): Promise<DatabaseFinding[]> {
  const facts = await readServerFacts(connection);
  const trouble = troubleIn(facts, requirements);
  const weaknesses = weaknessesIn(facts).map(
    (found): DatabaseFinding => ({
      check: "durability",
      verdict: "warning",
      found,
      means: "what was accepted can be lost",
    }),
  );
  if (trouble !== undefined) {
    const means = "nothing can be stored durably now";
    weaknesses.unshift({
      check: "durability",
      verdict: "refuses",
      found: trouble.message,
      means,
      remedy: trouble.advice,
    });
  }
  if (weaknesses.length > 0) return weaknesses;
  const found = facts.synchronous ? "commits wait for a standby" : "commits wait for the disk of one server";
  return [{ check: "durability", verdict: "ok", found }];
}
