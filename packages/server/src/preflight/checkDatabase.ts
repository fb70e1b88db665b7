import {
  type Connection,
  createConnection,
  type DatabaseAddress,
  databaseRoute,
} from "../store/database/database.js";
import { databaseTlsWarning } from "../store/database/databaseTls.js";
import { StoreUnavailableError, troubleOf } from "../store/database/storeTrouble.js";
import { readServerFacts, type StoreRequirements, troubleIn, weaknessesIn } from "../store/primary/facts.js";
import { assertOwnSessions } from "../store/primary/pooler.js";
import { embeddedConnection } from "../store/server/embedded.js";
import type { DatabaseLocation } from "../store/store.js";
import { checkStore, type ExpectedStore } from "./checkStore.js";
import type { DatabaseFinding } from "./databaseFinding.js";

/** The oldest major version of PostgreSQL whose features the store uses. */
const OLDEST_VERSION = 15;
const CONNECT_MS = 3_000;
/** A larger difference of the clocks moves the times in records and the ends of keys visibly. */
const MAX_SKEW_MS = 2_000;

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
  requirements: StoreRequirements,
  stores: readonly ExpectedStore[] = [{}],
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
      ...(await checkStores(connection, stores)),
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
  if (major >= OLDEST_VERSION) return { check: "version", verdict: "ok", found };
  return {
    check: "version",
    verdict: "refuses",
    found,
    means: "the store's tables need features of newer versions",
    remedy: `use PostgreSQL ${OLDEST_VERSION} or newer`,
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
