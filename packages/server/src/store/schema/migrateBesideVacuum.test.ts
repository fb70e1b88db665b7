import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { nextSchema } from "../../../test/support/nextSchema.js";
import { silent, TestPostgres } from "../../../test/support/testPostgres.js";
import { Pool } from "../database/database.js";
import { migrate } from "./migrate.js";

// Its autovacuum has settings of its own.
const postgres = new TestPostgres();
beforeAll(() => postgres.start());
afterAll(() => postgres.end());

it("upgrades a store while PostgreSQL vacuums its outcomes by itself", async () => {
  await postgres.primary.query(
    "alter system set autovacuum_naptime = '1s'",
    "alter system set autovacuum_vacuum_cost_delay = '100ms'",
    "alter system set autovacuum_vacuum_cost_limit = 1",
    "select pg_reload_conf()",
  );
  const pool = new Pool({ connectionString: await postgres.createEmptyDatabase(), maxConnections: 2 });
  await migrate(pool, silent);
  await pool.query(`
    insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, signings,
                          accepted_at, error_reason)
    select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, 'key', 'failed', sha256(n::text::bytea),
           decode(repeat('11', 20), 'hex'), n, decode(repeat('22', 20), 'hex'), decode(repeat('33', 20), 'hex'), 1,
           now(), 'NODE_REFUSED'
    from generate_series(1, 5000) n`);
  const isVacuumed = async () =>
    (
      await pool.query(
        "select from pg_locks where relation = (select max(tableoid) from finished) and mode ~ '^ShareUpdate'",
      )
    ).rowCount !== 0;
  await vi.waitUntil(isVacuumed, { interval: 10, timeout: 60_000 });
  const startedAt = performance.now();
  await migrate(pool, silent, { files: await nextSchema("alter table finished add column remark text") });
  // The vacuum alone would take a minute.
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect((await pool.query("select from finished where remark is null limit 1")).rowCount).toBe(1);
  await pool.end();
}, 60_000);
