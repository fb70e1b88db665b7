import { readFile } from "node:fs/promises";
import { expect, it, vi } from "vitest";
import { silent } from "../../test/support/testPostgres.js";
import { useTestPostgres } from "../../test/support/testStore.js";
import { openPool } from "./database.js";
import { migrate } from "./migrate.js";

const postgres = useTestPostgres();

/** The last version that kept all outcomes in one table. */
const BEFORE_PARTITIONS = 18;

it("upgrades a store while PostgreSQL vacuums its outcomes by itself", async () => {
  await postgres.primary.query(
    "alter system set autovacuum_naptime = '1s'",
    "alter system set autovacuum_vacuum_cost_delay = '100ms'",
    "alter system set autovacuum_vacuum_cost_limit = 1",
    "select pg_reload_conf()",
  );
  const pool = openPool({ connectionString: await postgres.createEmptyDatabase(), maxConnections: 2 });
  await pool.query(
    "create table migrations (number integer primary key, applied_at timestamptz default now())",
  );
  for (let number = 1; number <= BEFORE_PARTITIONS; number++) {
    const file = new URL(`../../migrations/${String(number).padStart(6, "0")}.sql`, import.meta.url);
    await pool.query(await readFile(file, "utf8"));
    await pool.query("insert into migrations (number) values ($1)", [number]);
  }
  await pool.query(`
    insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, signings,
                          accepted_at, error_reason)
    select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, 'key', 'failed', sha256(n::text::bytea),
           decode(repeat('11', 20), 'hex'), n, decode(repeat('22', 20), 'hex'), decode(repeat('33', 20), 'hex'), 1,
           now(), 'NODE_REFUSED'
    from generate_series(1, 5000) n`);
  const isVacuumed = async () =>
    (await pool.query("select from pg_locks where relation = 'finished'::regclass and mode ~ '^ShareUpdate'"))
      .rowCount !== 0;
  await vi.waitUntil(isVacuumed, { interval: 10, timeout: 30_000 });
  const startedAt = performance.now();
  await migrate(pool, silent);
  // The vacuum alone would take a minute.
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect((await pool.query("select from finished_days where partition = 'finished_first'")).rowCount).toBe(1);
  await pool.end();
}, 60_000);
