import { describe, expect, it } from "vitest";
import { nextSchema } from "../../../test/support/nextSchema.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { StartError } from "../../model/errors.js";
import { Pool } from "../database/database.js";
import { openStore } from "../store.js";
import { migrate, readSchemaFiles } from "./migrate.js";

const databases = useTestPostgres();

async function onNewDatabase(run: (pool: Pool, databaseUrl: string) => Promise<void>): Promise<void> {
  const databaseUrl = await databases.createEmptyDatabase();
  const pool = new Pool({ connectionString: databaseUrl, maxConnections: 10 });
  try {
    await run(pool, databaseUrl);
  } finally {
    await pool.end();
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
      await pool.query("insert into chains (id, chain_id, genesis_hash) values (1, 1, 'x')");
      await migrate(pool, silent);
      expect(await numbers(pool)).toEqual(first);
      expect(first).toEqual([(await readSchemaFiles()).number]);
      expect((await pool.query("select from chains")).rowCount).toBe(1);
    }));

  it("is made once, also when migrate runs five times at the same time", () =>
    onNewDatabase(async (pool) => {
      await Promise.all(Array.from({ length: 5 }, () => migrate(pool, silent)));
      const all = await numbers(pool);
      expect(new Set(all).size).toBe(all.length);
    }));

  it("is upgraded while the version before works, gives way to a transaction that reads, and goes on after a part that was applied", () =>
    onNewDatabase(async (pool) => {
      await migrate(pool, silent);
      await pool.query("insert into chains (id, chain_id, genesis_hash) values (1, 2201, 'x')");
      // As the version before writes and reads outcomes.
      let next = 0;
      const times: number[] = [];
      const work = async () => {
        const startedAt = performance.now();
        await pool.query(
          `insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, signings,
             waiver_nonce, block_number, block_hash, gas_used, reverted, accepted_at)
           select (lpad(to_hex($1::bigint), 12, '0') || '70008000' || repeat('0', 12))::uuid, 1, 'key', 'included',
             sha256(int8send($1)), substr(sha256('s'), 1, 20), $1, substr(sha256('t'), 1, 20), substr(sha256('w'), 1, 20),
             1, $1, 5, sha256('b'), 46875, false, now()`,
          [next],
        );
        await pool.query("select state from submissions where sender_nonce = $1", [next++]);
        times.push(performance.now() - startedAt);
      };
      await work();
      const reader = await pool.connect();
      await reader.query("begin");
      await reader.query("select count(*) from submissions");
      let isDone = false;
      const warnings: unknown[] = [];
      const log = { info() {}, warn: (...warning: unknown[]) => void warnings.push(warning) };
      const files = await nextSchema(
        "create table if not exists remarks (text text)",
        "alter table finished add column remark text",
      );
      // A start of the next version that was killed after the first part.
      await pool.query("create table remarks (text text)");
      const migrating = migrate(pool, log, { files }).finally(() => {
        isDone = true;
      });
      while (warnings.length === 0) await work();
      expect(warnings).toEqual([[{ migration: files.number }, expect.stringContaining("waits for a lock")]]);
      expect(isDone).toBe(false);
      await reader.query("commit");
      reader.release();
      while (!isDone) await work();
      await migrating;
      for (let i = 0; i < 5; i++) await work();
      // Half a second is the migration's patience with a lock, and the crowd of a busy machine.
      expect(Math.max(...times)).toBeLessThan(3_000);
      const { rows } = await pool.query(
        "select count(*)::int as count, count(remark)::int as remarks from finished",
      );
      expect(rows).toEqual([{ count: next, remarks: 0 }]);
      expect(await numbers(pool)).toEqual([files.number - 1, files.number]);
    }));

  it("has one number on a fresh database, however many migrations there are", () =>
    onNewDatabase(async (pool) => {
      const files = await nextSchema("select from nowhere");
      await migrate(pool, silent, { files });
      expect(await numbers(pool)).toEqual([files.number]);
    }));

  it("is not there at all where its baseline fails, and is made by the next start", () =>
    onNewDatabase(async (pool) => {
      const { baseline } = await readSchemaFiles();
      const files = { baseline: `${baseline}; select from nowhere`, migrations: [], number: 1 };
      await expect(migrate(pool, silent, { files })).rejects.toThrow(/nowhere/);
      expect((await pool.query("select to_regclass('chains') as chains")).rows).toEqual([{ chains: null }]);
      await migrate(pool, silent);
      expect(await numbers(pool)).toHaveLength(1);
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

describe("a store in a schema that the role's search path names", () => {
  const changed = (run: (database: string) => string[]) => async (databaseUrl: string) => {
    const pool = new Pool({ connectionString: databaseUrl, maxConnections: 1 });
    const { rows } = await pool.query<{ name: string }>("select current_database() as name");
    for (const statement of run(rows[0]?.name ?? "")) await pool.query(statement);
    await pool.end();
  };

  it("is not made a second time in a schema of the role's name: the start names both, and the remedy", () =>
    onNewDatabase(async (_, databaseUrl) => {
      await (await openStore({ databaseUrl }, silent)).close();
      await changed(() => ["create schema authorization current_user"])(databaseUrl);
      await expect(openStore({ databaseUrl }, silent)).rejects.toThrow(
        /the store is in the schema public, and the schema gas_waiver is before it .* \(--schema public\)/,
      );
      await (await openStore({ databaseUrl, schema: "public" }, silent)).close();
    }));

  it("stays the one of all its connections while it is open", () =>
    onNewDatabase(async (_, databaseUrl) => {
      const store = await openStore({ databaseUrl }, silent);
      await changed((name) => [
        "create schema other; create table other.chains ()",
        `alter database ${name} set search_path = other, public`,
      ])(databaseUrl);
      // This role has no connection yet.
      const { rows } = await store
        .forRole("reading")
        .pool.query("select 'chains'::regclass::oid = 'public.chains'::regclass as same");
      expect(rows).toEqual([{ same: true }]);
      await store.close();
    }));
});
