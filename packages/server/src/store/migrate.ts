import { readdir, readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { StartError } from "../model/errors.js";
import type { Logger } from "../model/log.js";
import { type Pool, type PooledConnection, setAnswerTimeout } from "./database.js";
import { advisoryLock } from "./sharedDatabase.js";
import { isTransactionConflict } from "./transaction.js";

const FOLDER = new URL("../../migrations/", import.meta.url);
/** The advisory lock that lets one replica at a time migrate. */
const MIGRATION_LOCK = 0x6761_7377;

/**
 * The migrations that look for an object by its name in all schemas of the database. The first part of number 20 takes a
 * constraint for its own that another schema has while that is at the same migration.
 */
const DATABASE_WIDE: ReadonlySet<number> = new Set([20]);
/** The advisory lock that lets one schema at a time apply those. */
const DATABASE_WIDE_LOCK = 0x6761_7364;

/** A migration may move many rows, and another replica may hold the lock that long. */
const MIGRATION_MS = 3_600_000;

const INSUFFICIENT_PRIVILEGE = "42501";

/** Separates the parts of a migration. */
const PART_END = /^-- then$/m;
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
 * Applies the numbered migrations that the store's schema lacks, and makes the schema if it has a name and is not there. Replicas of the version before may run meanwhile. Each part of a
 * migration is a transaction of its own, which gives way when it cannot have a lock at once, and then runs again.
 * @throws {@link StartError} if the schema is newer than this program.
 */
export async function migrate(
  pool: Pool,
  log: Pick<Logger, "info" | "warn">,
  { makesSchema = true }: { readonly makesSchema?: boolean } = {},
): Promise<void> {
  const files = await migrationFiles();
  const client = await pool.connect();
  setAnswerTimeout(client, MIGRATION_MS);
  const lock = advisoryLock(pool, MIGRATION_LOCK);
  try {
    await client.query("select pg_advisory_lock($1)", [lock]);
    if (pool.schema !== undefined) await ensureSchema(client, pool.schema, makesSchema);
    await client.query(
      "create table if not exists migrations (number integer primary key, applied_at timestamptz not null default now())",
    );
    const { rows } = await client.query<{ number: number }>("select number from migrations order by number");
    const applied = new Set(rows.map((row) => row.number));
    const current = rows.at(-1)?.number ?? 0;
    const newest = numberOf(files.at(-1) ?? "0");
    if (current > newest) {
      throw new StartError(
        `the store's schema has number ${current}, this program knows ${newest}: use a newer program`,
      );
    }
    const missing = files.filter((name) => !applied.has(numberOf(name)));
    if (missing.length > 0)
      log.info({ from: current, to: newest }, "the store's schema is brought up to date");
    for (const file of missing) {
      if (DATABASE_WIDE.has(numberOf(file))) await applyAlone(client, file, log);
      else await apply(client, file, log);
    }
    await client.query("select pg_advisory_unlock($1)", [lock]);
  } catch (error) {
    // Closing the connection releases the lock and rolls back the open transaction.
    client.release(true);
    throw error;
  }
  setAnswerTimeout(client);
  client.release();
}

async function migrationFiles(): Promise<string[]> {
  return (await readdir(FOLDER)).filter((name) => /^\d{6}\.sql$/.test(name)).sort();
}

/** The number of the newest schema that this program knows. */
export async function newestMigration(): Promise<number> {
  return numberOf((await migrationFiles()).at(-1) ?? "0");
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
    if ((error as { readonly code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    const message = `the database's user may not make the schema ${schema}: make it for the user (create schema ${schema} authorization …), or grant create on the database`;
    throw new StartError(message, { cause: error });
  }
}

async function applyAlone(client: PooledConnection, file: string, log: Pick<Logger, "warn">): Promise<void> {
  await client.query("select pg_advisory_lock($1)", [DATABASE_WIDE_LOCK]);
  await apply(client, file, log);
  await client.query("select pg_advisory_unlock($1)", [DATABASE_WIDE_LOCK]);
}

/** Every part but the last can run again after a crash: the last one records the migration. */
async function apply(client: PooledConnection, file: string, log: Pick<Logger, "warn">): Promise<void> {
  const parts = (await readFile(new URL(file, FOLDER), "utf8")).split(PART_END);
  const onWaiting = () => {
    log.warn(
      { migration: numberOf(file) },
      "a migration waits for a lock: a transaction that stays open may hold it",
    );
  };
  for (const [i, part] of parts.entries()) {
    const record = `insert into migrations (number) values (${numberOf(file)})`;
    await runPart(client, i === parts.length - 1 ? `${part};\n${record}` : part, onWaiting);
  }
}

async function runPart(client: PooledConnection, sql: string, onWaiting: () => void): Promise<void> {
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

function numberOf(file: string): number {
  return Number.parseInt(file, 10);
}
