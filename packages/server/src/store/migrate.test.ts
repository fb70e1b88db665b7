import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { silent } from "../../test/support/testPostgres.js";
import { useTestPostgres } from "../../test/support/testStore.js";
import { StartError } from "../model/errors.js";
import { openPool, type Pool } from "./database.js";
import { migrate } from "./migrate.js";
import { openStore } from "./store.js";

const postgres = useTestPostgres();

async function onNewDatabase(run: (pool: Pool, databaseUrl: string) => Promise<void>): Promise<void> {
  const databaseUrl = await postgres.createEmptyDatabase();
  const pool = openPool({ connectionString: databaseUrl, maxConnections: 10 });
  try {
    await run(pool, databaseUrl);
  } finally {
    await pool.end();
  }
}

/** Makes the schema of an older program, which knew only the first `count` migrations. */
async function applyFirst(count: number, pool: Pool): Promise<void> {
  await pool.query(
    "create table migrations (number integer primary key, applied_at timestamptz not null default now())",
  );
  for (let number = 1; number <= count; number++) {
    const file = new URL(`../../migrations/${String(number).padStart(6, "0")}.sql`, import.meta.url);
    await pool.query(await readFile(file, "utf8"));
    await pool.query("insert into migrations (number) values ($1)", [number]);
  }
}

const numbers = async (pool: Pool) =>
  (await pool.query<{ number: number }>("select number from migrations order by number")).rows.map(
    (row) => row.number,
  );

describe("the schema", () => {
  it("is made once on an empty database, however often migrate runs", () =>
    onNewDatabase(async (pool) => {
      await migrate(pool, silent);
      const first = await numbers(pool);
      await pool.query("insert into chains (chain_id, genesis_hash) values (1, 'x')");
      await migrate(pool, silent);
      expect(await numbers(pool)).toEqual(first);
      const files = await readdir(new URL("../../migrations/", import.meta.url));
      expect(first).toEqual(files.map((name) => Number.parseInt(name, 10)).sort((a, b) => a - b));
      expect((await pool.query("select from chains")).rowCount).toBe(1);
    }));

  it("is made once, also when migrate runs five times at the same time", () =>
    onNewDatabase(async (pool) => {
      await Promise.all(Array.from({ length: 5 }, () => migrate(pool, silent)));
      const all = await numbers(pool);
      expect(new Set(all).size).toBe(all.length);
    }));

  it("keeps every submission when it gets a table for finished ones", () =>
    onNewDatabase(async (pool) => {
      await applyFirst(2, pool);
      await pool.query(`insert into chains (chain_id, genesis_hash) values (2201, 'x')`);
      await pool.query(`
        insert into submissions (id, chain, key_id, origin, state, inner_hash, inner_raw, sender, sender_nonce, target,
          waiver, waiver_nonce, wrapper_hash, wrapper_raw, block_number, block_hash, gas_used, reverted,
          error_reason, error_message, finished_at, final_at)
        select gen_random_uuid(), 1, 'key', gen_random_uuid(), state, sha256(int4send(i::int)), 'raw',
          substr(sha256(int4send(i::int)), 1, 20), i, substr(sha256('to'), 1, 20), substr(sha256('w'), 1, 20),
          case when wrapped then i end, case when wrapped then sha256('h') end, case when wrapped then 'raw'::bytea end,
          case when state = 'included' then 5 end, case when state = 'included' then sha256('b') end,
          case when state = 'included' then 46875 end, case when state = 'included' then false end,
          case when state = 'failed' then 'NODE_REFUSED' end, case when state = 'failed' then 'no' end,
          case when state in ('included', 'failed') then now() end, case when is_final then now() end
        from (values (1, 'queued', false, false), (2, 'signed', true, false), (3, 'broadcast', true, false),
          (4, 'included', true, false), (5, 'included', true, true), (6, 'failed', false, false))
          as v (i, state_name, wrapped, is_final), lateral (select state_name::submission_state as state) s`);
      const all =
        "select id, state, sender_nonce, waiver_nonce, error_reason from submissions order by sender_nonce";
      const before = await pool.query(all);
      await migrate(pool, silent);
      expect((await pool.query(all)).rows).toEqual(before.rows);
      const under = await pool.query("select state from unfinished order by sender_nonce");
      expect(under.rows.map(({ state }) => state)).toEqual(["queued", "signed", "broadcast", "included"]);
    }));

  it("gets partitions for its outcomes, with the rights on them, while the version before works, and gives way to a transaction that reads", () =>
    onNewDatabase(async (pool) => {
      await applyFirst(18, pool);
      await pool.query("insert into chains (chain_id, genesis_hash) values (2201, 'x')");
      // As the version before writes and reads outcomes.
      const finish = (first: number, count: number) =>
        pool.query(
          `insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, signings,
             waiver_nonce, block_number, block_hash, gas_used, reverted, accepted_at)
           select uuidv7(), 1, 'key', 'included', sha256(int8send(i)), substr(sha256('s'), 1, 20), i,
             substr(sha256('t'), 1, 20), substr(sha256('w'), 1, 20), 1, i, 5, sha256('b'), 46875, false, now()
           from generate_series($1::bigint, $1::bigint + $2 - 1) i`,
          [first, count],
        );
      await finish(0, 20_000);
      await pool.query("grant select, insert on finished to public");
      const reader = await pool.connect();
      await reader.query("begin");
      await reader.query("select count(*) from submissions");
      let isDone = false;
      const warnings: unknown[] = [];
      const log = { info() {}, warn: (...warning: unknown[]) => void warnings.push(warning) };
      const migrating = migrate(pool, log).finally(() => {
        isDone = true;
      });
      const times: number[] = [];
      let next = 20_000;
      const work = async () => {
        const startedAt = performance.now();
        await finish(next++, 1);
        await pool.query("select state from submissions where sender_nonce = $1", [next - 1]);
        times.push(performance.now() - startedAt);
      };
      while (warnings.length === 0) await work();
      expect(warnings).toEqual([[{ migration: 19 }, expect.stringContaining("waits for a lock")]]);
      expect(isDone).toBe(false);
      await reader.query("commit");
      reader.release();
      while (!isDone) await work();
      await migrating;
      for (let i = 0; i < 5; i++) await work();
      // Half a second is the migration's patience with a lock, and the crowd of a busy machine.
      expect(Math.max(...times)).toBeLessThan(3_000);
      const { rows } = await pool.query(
        "select count(*)::int as count, max(waiver_nonce)::int as highest from finished",
      );
      expect(rows).toEqual([{ count: next, highest: next - 1 }]);
      await pool.query("update finished set waiver_nonce = null where chain = 1 and waiver_nonce >= $1", [
        next - 1,
      ]);
      const { rows: parts } = await pool.query("select partition from finished_days");
      expect(parts).toEqual([{ partition: "finished_first" }]);
      const { rows: rights } = await pool.query(
        `select string_agg(privilege_type, ' ' order by privilege_type) as granted
         from pg_class, aclexplode(relacl) where oid = 'finished'::regclass and grantee = 0`,
      );
      expect(rights).toEqual([{ granted: "INSERT SELECT" }]);
    }));

  it("that is newer than the program fails the start with one sentence, and stays as it is", () =>
    onNewDatabase(async (pool, databaseUrl) => {
      await migrate(pool, silent);
      await pool.query("insert into migrations (number) values (999)");
      const start = openStore({ databaseUrl }, silent);
      await expect(start).rejects.toThrow(StartError);
      await expect(start).rejects.toThrow(
        /schema has number 999, this program knows \d+: use a newer program/,
      );
      expect((await numbers(pool)).at(-1)).toBe(999);
    }));

  it("can be used right after a start that was refused", () =>
    onNewDatabase(async (pool, databaseUrl) => {
      await migrate(pool, silent);
      await pool.query("insert into migrations (number) values (999)");
      await expect(openStore({ databaseUrl }, silent)).rejects.toThrow(StartError);
      await pool.query("delete from migrations where number = 999");
      await (await openStore({ databaseUrl }, silent)).close();
    }));
});

describe("a database that cannot be reached", () => {
  it("fails the start with one sentence, without the password", async () => {
    const start = openStore({ databaseUrl: "postgres://somebody:geheim@127.0.0.1:1/x" }, silent);
    await expect(start).rejects.toThrow(StartError);
    await expect(start).rejects.toThrow(/the database cannot be used: .+/);
    await expect(start).rejects.not.toThrow(/geheim/);
  });
});
