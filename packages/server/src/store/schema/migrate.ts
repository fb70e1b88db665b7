import { StartError } from "../../model/errors.js";
import type { Logger } from "../../model/telemetry/log.js";
import { type Pool, type PooledConnection, setAnswerTimeout } from "../database/database.js";
import { advisoryLock } from "../database/sharedDatabase.js";
import { applyMigration, MIGRATION_MS } from "./applyMigration.js";
import { readSchemaFiles, type SchemaFiles } from "./schemaFiles.js";

/** The advisory lock that lets one replica at a time migrate. */
const MIGRATION_LOCK = 0x6761_7377;

const INSUFFICIENT_PRIVILEGE = "42501";

export interface MigrateOptions {
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
    if ((error as { readonly code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error;
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
