import { readdir, readFile } from "node:fs/promises";
import { StartError } from "../model/errors.js";
import { type Pool, setAnswerTimeout } from "./database.js";

const FOLDER = new URL("../../migrations/", import.meta.url);
/** The advisory lock that lets one replica at a time migrate. */
const MIGRATION_LOCK = 0x6761_7377;

/** A migration may move many rows, and another replica may hold the lock that long. */
const MIGRATION_MS = 3_600_000;

/**
 * Applies the numbered migrations that the database lacks, each in a transaction of its own.
 * @throws {@link StartError} if the schema is newer than this program.
 */
export async function migrate(pool: Pool): Promise<void> {
  const files = (await readdir(FOLDER)).filter((name) => /^\d{6}\.sql$/.test(name)).sort();
  const client = await pool.connect();
  setAnswerTimeout(client, MIGRATION_MS);
  try {
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
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
    for (const file of files.filter((name) => !applied.has(numberOf(name)))) {
      await client.query("begin");
      await client.query(await readFile(new URL(file, FOLDER), "utf8"));
      await client.query("insert into migrations (number) values ($1)", [numberOf(file)]);
      await client.query("commit");
    }
    await client.query("select pg_advisory_unlock($1)", [MIGRATION_LOCK]);
  } catch (error) {
    // Closing the connection releases the lock and rolls back the open transaction.
    client.release(true);
    throw error;
  }
  setAnswerTimeout(client);
  client.release();
}

function numberOf(file: string): number {
  return Number.parseInt(file, 10);
}
