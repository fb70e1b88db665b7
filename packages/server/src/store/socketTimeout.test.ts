import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useTestPostgres } from "../../test/support/testStore.js";
import { allowSilence, limitSilence } from "./socketTimeout.js";
import { isStoreUnavailable } from "./store.js";

const postgres = useTestPostgres();
let pool: pg.Pool;
beforeEach(async () => {
  pool = new pg.Pool({ connectionString: await postgres.createDatabase(), max: 1 });
  pool.on("connect", (client) => client.on("error", () => {}));
  pool.on("error", () => {});
});
afterEach(() => pool.end());

describe("a connection on which nothing comes", () => {
  it("is cut while it is used: its query fails as with a store that is away, and the next has another", async () => {
    limitSilence(pool, 50);
    const failure = await pool.query("select pg_sleep(60)").catch((error: unknown) => error);
    expect(failure).toMatchObject({ message: "the database gave no answer in time: timeout of 50 ms" });
    expect(isStoreUnavailable(failure)).toBe(true);
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });

  it("stays while nobody uses it, and is watched again afterwards", async () => {
    limitSilence(pool, 50);
    const backend = async () => (await pool.query("select pg_backend_pid() as pid")).rows[0].pid;
    const first = await backend();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await backend()).toBe(first);
    await expect(pool.query("select pg_sleep(60)")).rejects.toThrow("no answer in time");
  });

  it("may be silent for longer where that is allowed", async () => {
    limitSilence(pool, 50);
    const client = await pool.connect();
    allowSilence(client, 60_000);
    expect((await client.query("select pg_sleep(0.3)")).rowCount).toBe(1);
    allowSilence(client, 50);
    await expect(client.query("select pg_sleep(60)")).rejects.toThrow("no answer in time");
    client.release(true);
  });
});
