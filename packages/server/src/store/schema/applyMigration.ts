import { setTimeout } from "node:timers/promises";
import type { Logger } from "../../model/telemetry/log.js";
import type { Queryable } from "../database/database.js";
import { isTransactionConflict } from "../database/transaction.js";
import type { Migration } from "./schemaFiles.js";

/** A migration may move many rows, and another replica may hold the lock that long. */
export const MIGRATION_MS = 3_600_000;

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
export async function applyMigration(
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
