import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { Pool, type PoolOptions, setAnswerTimeout } from "./database.js";
import { isStoreUnavailable } from "./storeTrouble.js";

const databases = useTestPostgres();
let pool: Pool;
const usePool = (options: Pick<PoolOptions, "answerTimeoutMs" | "connectTimeoutMs"> = {}) => {
  beforeEach(async () => {
    const connectionString = await databases.createEmptyDatabase();
    pool = new Pool({ connectionString, maxConnections: 1, ...options });
  });
  afterEach(() => pool.end());
};

const backend = async () => (await pool.query("select pg_backend_pid() as pid")).rows[0]?.pid;

describe("a connection whose statement fails", () => {
  usePool();
  const raise = (sqlState: string) =>
    pool.query(`do $$ begin raise exception 'refused' using errcode = '${sqlState}'; end $$`);

  it.each(["GW002", "54000", "55P03", "23505", "40P01"])(
    "stays for the next one where it has lost to a competitor: %s",
    async (sqlState) => {
      const first = await backend();
      await expect(raise(sqlState)).rejects.toMatchObject({ code: sqlState });
      expect(await backend()).toBe(first);
    },
  );

  it.each(["XX000", "25P02", "25006", "57P01", "53100", "GW001"])(
    "makes room for a new one where the session is in doubt, or the database cannot work: %s",
    async (sqlState) => {
      const first = await backend();
      await expect(raise(sqlState)).rejects.toThrow("refused");
      expect(await backend()).not.toBe(first);
    },
  );

  it("makes room for a new one where its plan no longer fits, which would fail on it for ever", async () => {
    await pool.query("create table kept (value integer)");
    const statement = { name: "kept", text: "select value from kept", values: [] };
    await pool.query(statement);
    await pool.query("alter table kept alter column value type text");
    await expect(pool.query(statement)).rejects.toThrow("cached plan");
    expect((await pool.query(statement)).rows).toEqual([]);
  });

  it("makes room for a new one where the database has ended the session", async () => {
    const first = await backend();
    await expect(pool.query("select pg_terminate_backend(pg_backend_pid())")).rejects.toThrow("terminating");
    expect(await backend()).not.toBe(first);
  });
});

describe("a pool whose connections are made anew", () => {
  usePool({ connectTimeoutMs: 3_000 });
  it("serves whoever has waited for one of those before", async () => {
    const before = await pool.connect();
    const waiting = backend();
    pool.renew();
    before.release();
    await expect(waiting).resolves.toBeTypeOf("number");
  });
});

describe("a connection on which no byte comes", () => {
  usePool({ answerTimeoutMs: 500 });
  it("is cut while it is in use: its query fails as if the database could not be reached, and the next query runs on a new connection", async () => {
    const failure = await pool.query("select pg_sleep(60)").catch((error: unknown) => error);
    expect(failure).toMatchObject({ message: "the database gave no answer in time: timeout of 500 ms" });
    expect(isStoreUnavailable(failure)).toBe(true);
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });

  it("stays open while it is idle, and is cut when the next query gets no answer", async () => {
    const first = await backend();
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(await backend()).toBe(first);
    await expect(pool.query("select pg_sleep(60)")).rejects.toThrow("no answer in time");
  });

  it("may stay silent for longer where its answer timeout is longer", async () => {
    const client = await pool.connect();
    setAnswerTimeout(client, 60_000);
    expect((await client.query("select pg_sleep(0.7)")).rowCount).toBe(1);
    setAnswerTimeout(client, 50);
    await expect(client.query("select pg_sleep(60)")).rejects.toThrow("no answer in time");
    client.release(true);
  });
});
