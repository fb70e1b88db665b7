import { readdir, readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { StartError } from "../../model/errors.js";
import type { Logger } from "../../model/telemetry/log.js";
import { type Pool, type PooledConnection, type Queryable, setAnswerTimeout } from "../database/database.js";
import { advisoryLock } from "../database/sharedDatabase.js";
import { troubleOf } from "../database/storeTrouble.js";
import { isTransactionConflict } from "../database/transaction.js";

/** The advisory lock that lets one replica at a time migrate. */
const MIGRATION_LOCK = 0x6761_7377;

interface MigrateOptions {
  /** Whether a schema that has a name and is not there is made. Default: true. */
  readonly makesSchema?: boolean;
  /** The schema to bring the store to. Default: that of this program. */
  readonly files?: SchemaFiles;
}

/**
 * Makes the tables and functions of a new store by the baseline, in one transaction, or brings those of an older store up to
 * date by the migrations that it lacks.
 * @throws {@link StartError} if the schema is newer than this program.
 */
export async function migrate(
  pool: Pool,
  log: Pick<Logger, "info" | "warn">,
  { makesSchema = true, files }: MigrateOptions = {},
): Promise<void> {
  const known = files ?? (await readSchemaFiles());
  const client = await pool.connect();
  setAnswerTimeout(client, MIGRATION_MS);
  const lock = advisoryLock(pool, MIGRATION_LOCK);
  try {
    await client.query("select pg_advisory_lock($1)", [lock]);
    if (pool.schema !== undefined) await ensureSchema(client, pool.schema, makesSchema);
    const current = await storedNumber(client);
    if (current === undefined) await createTables(client, known);
    else await upgrade(client, current, known, log);
    await client.query("select pg_advisory_unlock($1)", [lock]);
  } catch (error) {
    // Closing the connection releases the lock and rolls back the open transaction.
    client.release(true);
    throw error;
  }
  setAnswerTimeout(client);
  client.release();
}

/** @throws {@link StartError} if the schema is not there, and may not be made. */
async function ensureSchema(client: PooledConnection, schema: string, makesSchema: boolean): Promise<void> {
  // Making one that is there needs the right to make one all the same.
  const { rows } = await client.query("select from pg_namespace where nspname = $1", [schema]);
  if (rows.length > 0) return;
  if (!makesSchema) throw new StartError(`the database has no schema ${schema}`);
  try {
    await client.query(`create schema "${schema}"`);
  } catch (error) {
    if (troubleOf(error)?.kind !== "rights") throw error;
    const message = `the database's user may not make the schema ${schema}: make it for the user (create schema ${schema} authorization …), or grant create on the database`;
    throw new StartError(message, { cause: error });
  }
}

/** Reads the number of the store's schema; undefined where there is no store yet. */
async function storedNumber(client: PooledConnection): Promise<number | undefined> {
  const { rowCount } = await client.query(
    "select from pg_class where relname = 'migrations' and relnamespace = current_schema()::regnamespace",
  );
  if (rowCount === 0) return undefined;
  const { rows } = await client.query<{ number: number }>(
    "select coalesce(max(number), 0) as number from migrations",
  );
  return rows[0]?.number;
}

async function createTables(client: PooledConnection, { baseline, number }: SchemaFiles): Promise<void> {
  await client.query(`begin; ${baseline}; insert into migrations (number) values (${number}); commit`);
}

async function upgrade(
  client: PooledConnection,
  current: number,
  { migrations, number: newest }: SchemaFiles,
  log: Pick<Logger, "info" | "warn">,
): Promise<void> {
  if (current > newest) {
    throw new StartError(
      `the store's schema has number ${current}, this program knows ${newest}: use a newer program`,
    );
  }
  const missing = migrations.filter(({ number }) => number > current);
  if (missing.length > 0) log.info({ from: current, to: newest }, "the store's schema is brought up to date");
  for (const migration of missing) await applyMigration(client, migration, log);
}

/** A migration may move many rows, and another replica may hold the lock that long. */
const MIGRATION_MS = 3_600_000;

/** The time that a part waits for a lock before it gives way to the queries that wait behind it. */
const LOCK_TIMEOUT = "200ms";
/**
 * PostgreSQL ends an autovacuum that somebody waits for, but only after its `deadlock_timeout`. So some attempts wait longer: the
 * first of these, and then one in so many.
 */
const FIRST_LONG_ATTEMPT = 3;
const ATTEMPTS_PER_LONG = 40;
const LONG_LOCK_TIMEOUT = `select set_config('lock_timeout',
  (extract(epoch from current_setting('deadlock_timeout')::interval) * 1000 + 500)::int::text, true)`;
/** The attempt after which the log says that the migration waits, and the number of attempts from then to the next such line. */
const FIRST_WARNING = 2;
const ATTEMPTS_PER_WARNING = 40;
/** The pause before a part that gave way runs again, in ms. */
const RETRY_MS = 300;

/**
 * Applies a migration while replicas of the version before may run: a part that cannot have a lock at once gives way, and runs
 * again. Every part but the last can run again after a crash: the last one records the migration.
 */
async function applyMigration(
  client: Queryable,
  { number, parts }: Migration,
  log: Pick<Logger, "warn">,
): Promise<void> {
  const onWaiting = () => {
    log.warn(
      { migration: number },
      "a migration waits for a lock: a transaction that stays open may hold it",
    );
  };
  const record = `insert into migrations (number) values (${number})`;
  for (const [i, part] of parts.entries()) {
    await runPart(client, i === parts.length - 1 ? `${part};\n${record}` : part, onWaiting);
  }
}

async function runPart(client: Queryable, sql: string, onWaiting: () => void): Promise<void> {
  const deadline = performance.now() + MIGRATION_MS;
  for (let attempt = 1; ; attempt++) {
    try {
      await client.query(`begin; set local lock_timeout = '${LOCK_TIMEOUT}'`);
      if (attempt % ATTEMPTS_PER_LONG === FIRST_LONG_ATTEMPT) await client.query(LONG_LOCK_TIMEOUT);
      await client.query(sql);
      await client.query("commit");
      return;
    } catch (error) {
      if (!isTransactionConflict(error) || performance.now() > deadline) throw error;
      await client.query("rollback");
      if (attempt % ATTEMPTS_PER_WARNING === FIRST_WARNING) onWaiting();
      await setTimeout(RETRY_MS);
    }
  }
}

/** The package's folder with the plan of a new store, `baseline`, and the numbered migrations that upgrade an older one. */
const MIGRATIONS = new URL("../../../migrations/", import.meta.url);

/** The number of a schema whose baseline no migration has changed yet. */
const FIRST_NUMBER = 1;

export interface Migration {
  readonly number: number;
  /** Each part is a transaction of its own. */
  readonly parts: readonly string[];
}

/** The schema that a program knows. */
export interface SchemaFiles {
  /** Makes the tables and functions of a new store, as they are with all migrations. */
  readonly baseline: string;
  /** In the order of their numbers. */
  readonly migrations: readonly Migration[];
  /** The number that a store has with all of it. */
  readonly number: number;
}

/** Reads the schema of this program. */
export async function readSchemaFiles(folder = MIGRATIONS): Promise<SchemaFiles> {
  const names = (await readdir(folder, { recursive: true })).sort();
  const textOf = (name: string) => readFile(new URL(name, folder), "utf8");
  const baseline = names.filter((name) => /^baseline\b.*\.sql$/.test(name));
  const migrations = await Promise.all(
    names
      .filter((name) => /^\d{6}\.sql$/.test(name))
      .map(async (name) => ({
        number: Number.parseInt(name, 10),
        parts: (await textOf(name)).split(/^-- then$/m),
      })),
  );
  return {
    baseline: (await Promise.all(baseline.map(textOf))).join("\n"),
    migrations,
    number: migrations.at(-1)?.number ?? FIRST_NUMBER,
  };
}
