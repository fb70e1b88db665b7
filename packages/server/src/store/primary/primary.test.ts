// The demands of the service on its database at the start.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import pg from "pg";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { TransactionPooler } from "../../../test/support/transactionPooler.js";
import { createConnection, onConnection, Pool } from "../database/database.js";
import { listen } from "../database/notifications.js";
import { connectionsOf } from "../pools.js";
import { type OpenStore, openStore, type StoreOptions } from "../store.js";
import { readServerFacts } from "./facts.js";
import { readServer } from "./serverWatch.js";
import { prepareSession } from "./session.js";

const databases = useTestPostgres("tcp");
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(options: StoreOptions): Promise<OpenStore> {
  const store = await openStore(options, silent);
  closers.push(() => store.close());
  return store;
}

const setting = async (store: OpenStore, name: string) =>
  (await store.pool.query<{ value: string }>("select current_setting($1) as value", [name])).rows[0]?.value;

/** In Linux's /proc/net/tcp: a state, and what the column of timers says of a connection for which the system waits for nothing. */
const ESTABLISHED = "01";
const NO_TIMER = "00";

/** Returns the timers that the system has set for open connections to a port of loopback. */
async function timersOf(port: string): Promise<(string | undefined)[]> {
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((line) => line.trim().split(/\s+/));
  const remote = `:${Number(port).toString(16).toUpperCase().padStart(4, "0")}`;
  return lines
    .filter(([, , address, state]) => address?.endsWith(remote) && state === ESTABLISHED)
    .map((columns) => columns[5]?.split(":")[0]);
}

describe("the session of a connection", () => {
  it.each(["off", "local", "remote_write"])(
    "waits for the disk and the synchronous standbys where the database's default is %s",
    async (value) => {
      const databaseUrl = await databases.createDatabase();
      const name = new URL(databaseUrl).pathname.slice(1);
      await databases.query(`alter database ${name} set synchronous_commit = ${value}`);
      expect(await setting(await open({ databaseUrl }), "synchronous_commit")).toBe("on");
    },
  );

  it("keeps a default that waits for more", async () => {
    const databaseUrl = await databases.createDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    await databases.query(`alter database ${name} set synchronous_commit = remote_apply`);
    expect(await setting(await open({ databaseUrl }), "synchronous_commit")).toBe("remote_apply");
  });

  it("reads times where the database's default is another style of dates", async () => {
    const databaseUrl = await databases.createDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    await databases.query(`alter database ${name} set datestyle = 'German'`);
    const { pool } = await open({ databaseUrl });
    expect((await pool.query("select timestamptz '2030-01-31 12:00Z' as at")).rows).toEqual([
      { at: new Date("2030-01-31T12:00:00Z") },
    ]);
  });

  it("writes nulls in arrays where the database's default is to take them for words", async () => {
    const databaseUrl = await databases.createDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    await databases.query(`alter database ${name} set array_nulls = off`);
    const { pool } = await open({ databaseUrl });
    expect((await pool.query("select $1::int[] as nothing", [[null]])).rows).toEqual([{ nothing: [null] }]);
  });

  it.each(["statement_timeout", "transaction_timeout"])(
    "has time for a vacuum or a migration where the database has a %s",
    async (timeout) => {
      const databaseUrl = await databases.createDatabase();
      const name = new URL(databaseUrl).pathname.slice(1);
      await databases.query(`alter database ${name} set ${timeout} = '2s'`);
      const { pool } = await open({ databaseUrl });
      expect((await pool.query("select pg_sleep(2.2)")).rowCount).toBe(1);
    },
  );

  it("stays where the database ends sessions that are idle, also one that only listens", async () => {
    const databaseUrl = await databases.createDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    await databases.query(`alter database ${name} set idle_session_timeout = '300ms'`);
    const store = await open({ databaseUrl });
    expect(await setting(store, "idle_session_timeout")).toBe("0");
    let [connections, heard] = [0, 0];
    const events = { onListening: () => connections++, onNotification: () => heard++ };
    const { close } = listen(store, ["nobody"], events, silent);
    closers.push(close);
    while (connections === 0) await store.pool.query("select pg_sleep(0.01)");
    // The server ends this one after the other.
    await new Promise<void>((resolve) => {
      const idle = createConnection({ connectionString: databaseUrl }, { onLost: () => resolve() });
      idle.connect().catch(() => {});
    });
    await store.pool.query("select pg_notify('nobody', 'still there')");
    while (heard === 0 && connections === 1) await store.pool.query("select pg_sleep(0.01)");
    expect([connections, heard]).toEqual([1, 1]);
  });

  it("has the server ask after its client: the locks and connections of a machine that is gone stay no longer", async () => {
    const { pool } = await open({ databaseUrl: await databases.createDatabase() });
    const { rows } = await pool.query(
      "select name from pg_settings where name like 'tcp%' and source = 'session' order by name",
    );
    expect(rows.map(({ name }) => name)).toEqual([
      "tcp_keepalives_count",
      "tcp_keepalives_idle",
      "tcp_keepalives_interval",
      "tcp_user_timeout",
    ]);
  });

  it("ends a statement whose connection was cut while it waits for a lock", async () => {
    const databaseUrl = await databases.createDatabase();
    const colleague = createConnection({ connectionString: databaseUrl });
    closers.push(() => colleague.end());
    await colleague.connect();
    await colleague.query("begin; lock table audit");
    const pool = new Pool({
      ...{ connectionString: databaseUrl, maxConnections: 1, answerTimeoutMs: 500 },
      prepare: prepareSession,
    });
    closers.push(() => pool.end());
    await expect(pool.query("select from audit")).rejects.toThrow("no answer in time");
    const waiting = "select from pg_locks where relation = 'audit'::regclass and not granted";
    while ((await colleague.query(waiting)).rows.length > 0);
  });

  it.runIf(existsSync("/proc/net/tcp"))(
    "notices a server that is gone without a word, also where it only listens",
    async () => {
      const databaseUrl = await databases.createDatabase();
      const { connection } = await open({ databaseUrl });
      const listener = createConnection(connection);
      closers.push(() => listener.end());
      await listener.connect();
      await listener.query("listen nobody");
      const timers = await timersOf(new URL(databaseUrl).port);
      expect(timers.length).toBeGreaterThan(1);
      expect(timers).not.toContain(NO_TIMER);
    },
  );

  it("serves no reader on a server that is read-only", async () => {
    const databaseUrl = await databases.createDatabase();
    const store = await open({ databaseUrl });
    const name = new URL(databaseUrl).pathname.slice(1);
    await databases.query(`alter database ${name} set default_transaction_read_only = on`);
    // This role has no connection yet.
    await expect(store.forRole("reading").pool.query("select")).rejects.toThrow("the store is read-only");
  });
});

it("tells a server from others only while it is writable: connections are not made anew for a standby behind the name", async () => {
  const databaseUrl = await databases.createEmptyDatabase();
  const connection = { connectionString: databaseUrl };
  const server = await onConnection(connection, readServer);
  expect(await onConnection(connection, readServer)).toBe(server);
  expect(server).toMatch(/^\d+\.\d+$/);
  const name = new URL(databaseUrl).pathname.slice(1);
  await databases.query(`alter database ${name} set default_transaction_read_only = on`);
  expect(await onConnection(connection, readServer)).toBeUndefined();
});

it("looks at a database on one connection before it opens a store there", async () => {
  const databaseUrl = await databases.createDatabase();
  const connect = vi.spyOn(pg.Client.prototype, "connect");
  onTestFinished(() => connect.mockRestore());
  await open({ databaseUrl });
  // The others are that of administration and that of the monitor.
  expect(connect).toHaveBeenCalledTimes(3);
});

it("has 20 connections for a store by default, and two more for a moment", () => {
  expect(connectionsOf({})).toBe(22);
  expect(connectionsOf({ laneConnections: 8 })).toBe(24);
});

describe("an open transaction", () => {
  it("of any session has its age read by the monitor, and one of ours ends after a minute without a statement", async () => {
    const databaseUrl = await databases.createDatabase();
    const store = await open({ databaseUrl });
    expect(await setting(store, "idle_in_transaction_session_timeout")).toBe("1min");
    const forgotten = createConnection({ connectionString: databaseUrl });
    closers.push(() => forgotten.end());
    await forgotten.connect();
    await forgotten.query("begin; select pg_sleep(0.2)");
    expect((await readServerFacts(store.pool)).oldestTransactionMs).toBeGreaterThan(200);
    await forgotten.query("commit");
    expect((await readServerFacts(store.pool)).oldestTransactionMs).toBeLessThan(200);
  });
});

describe("a start", () => {
  it("is refused behind a pooler in transaction mode, by name and with what to do", async () => {
    const pooler = await TransactionPooler.inFrontOf(await databases.createDatabase());
    closers.push(() => pooler.close());
    await expect(open({ databaseUrl: pooler.url })).rejects.toThrow(/pooler.*pool_mode = session/);
  });

  it("is refused on a database that is read-only", async () => {
    const databaseUrl = await databases.createDatabase();
    await (await openStore({ databaseUrl }, silent)).close();
    const name = new URL(databaseUrl).pathname.slice(1);
    await databases.query(`alter database ${name} set default_transaction_read_only = on`);
    await expect(open({ databaseUrl })).rejects.toThrow(/the store is read-only.*lead to the primary/);
  });

  it("is refused on a database whose encoding lacks characters: a node's words would keep submissions from their end", async () => {
    const url = new URL(await databases.createEmptyDatabase());
    const name = `${url.pathname.slice(1)}_latin`;
    await databases.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
    closers.push(() => databases.query(`drop database ${name} with (force)`));
    url.pathname = name;
    await expect(open({ databaseUrl: url.href })).rejects.toThrow(/encoding that lacks.*'UTF8'/);
  });

  it("is refused without a synchronous standby where one is required", async () => {
    const databaseUrl = await databases.createDatabase();
    await expect(open({ databaseUrl, requireSynchronousStandby: true })).rejects.toThrow(
      /no synchronous standby.*--require-synchronous-standby/,
    );
  });
});
