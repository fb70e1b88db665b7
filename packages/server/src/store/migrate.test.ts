import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StartError } from "../errors.js";
import { silent, TestPostgres } from "../testing/TestPostgres.js";
import { migrate } from "./migrate.js";
import { openStore } from "./Store.js";

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres?.end());

async function onNewDatabase(run: (pool: pg.Pool, databaseUrl: string) => Promise<void>): Promise<void> {
  const databaseUrl = await postgres.createDatabase();
  const pool = new pg.Pool({ connectionString: databaseUrl });
  try {
    await run(pool, databaseUrl);
  } finally {
    await pool.end();
  }
}

const numbers = async (pool: pg.Pool) =>
  (await pool.query<{ number: number }>("select number from migrations order by number")).rows.map(
    (row) => row.number,
  );

describe("the schema", () => {
  it("is made on an empty database, once, however often it is asked for", () =>
    onNewDatabase(async (pool) => {
      await migrate(pool);
      const first = await numbers(pool);
      await pool.query("insert into chains (chain_id, genesis_hash) values (1, 'x')");
      await migrate(pool);
      expect(await numbers(pool)).toEqual(first);
      expect(first).toEqual(first.map((_, i) => i + 1));
      expect((await pool.query("select from chains")).rowCount).toBe(1);
    }));

  it("is made once by several that start at once", () =>
    onNewDatabase(async (pool) => {
      await Promise.all(Array.from({ length: 5 }, () => migrate(pool)));
      const all = await numbers(pool);
      expect(new Set(all).size).toBe(all.length);
    }));

  it("that is newer than the program is refused by one sentence, and left alone", () =>
    onNewDatabase(async (pool, databaseUrl) => {
      await migrate(pool);
      await pool.query("insert into migrations (number) values (999)");
      const start = openStore({ databaseUrl }, silent);
      await expect(start).rejects.toThrow(StartError);
      await expect(start).rejects.toThrow(
        /schema has number 999, this program knows \d+: use a newer program/,
      );
      expect((await numbers(pool)).at(-1)).toBe(999);
    }));

  it("is not held up by a start that was refused", () =>
    onNewDatabase(async (pool, databaseUrl) => {
      await migrate(pool);
      await pool.query("insert into migrations (number) values (999)");
      await expect(openStore({ databaseUrl }, silent)).rejects.toThrow(StartError);
      await pool.query("delete from migrations where number = 999");
      await (await openStore({ databaseUrl }, silent)).close();
    }));
});

describe("a database that cannot be reached", () => {
  it("is one sentence, without the password", async () => {
    const start = openStore({ databaseUrl: "postgres://somebody:geheim@127.0.0.1:1/x" }, silent);
    await expect(start).rejects.toThrow(StartError);
    await expect(start).rejects.toThrow(/the database cannot be used: .+/);
    await expect(start).rejects.not.toThrow(/geheim/);
  });
});
