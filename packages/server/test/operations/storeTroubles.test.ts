// The database refuses to work: clients, readiness and the log get a name for each trouble, which ends without a restart.
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { openKeyAdmin } from "../../src/keys/keyAdmin.js";
import { createConnection } from "../../src/store/database/database.js";
import { StoreUnavailableError } from "../../src/store/database/storeTrouble.js";
import { openStore } from "../../src/store/store.js";
import { TestPostgres } from "../support/testPostgres.js";
import { API_KEY, outcomeOf, testServices } from "../support/testService.js";
import { queryOnce } from "../support/testSessions.js";
import { innerOf } from "../support/user.js";

const services = testServices({ reach: "tcp" });

/** Creates an empty database with a role of its own, whose connections a test can limit. A superuser's cannot be limited. */
async function databaseWithRole(): Promise<{ url: string; limit(connections: number): Promise<void> }> {
  const url = new URL(await services.databases.createEmptyDatabase());
  const name = url.pathname.slice(1);
  const { databases } = services;
  url.username = `user_${name}`;
  await databases.query(`create role user_${name} login`, `alter database ${name} owner to user_${name}`);
  return {
    url: url.href,
    async limit(connections) {
      await databases.query(
        `alter role user_${name} connection limit ${connections}`,
        `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'user_${name}'`,
      );
    },
  };
}

describe("a database without a free connection", () => {
  it("makes requests fail with a 503 that names the cause, until a connection is free, without a restart", async () => {
    const { url, limit } = await databaseWithRole();
    const first = await services.start();
    const service = services.closeAfterTest(await first.startOnOtherStore(url));
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["success"]);
    await limit(0);
    const body = JSON.stringify({ transactions: [innerOf(2)] });
    let text = "";
    while (!text.includes("no connection left for this service: its role has a limit")) {
      const reply = await service.post(body);
      expect([reply.status, reply.headers["retry-after"]]).toEqual([503, "1"]);
      text = reply.text;
    }
    expect(JSON.parse(text).error.reason).toBe("STORE_UNAVAILABLE");
    await limit(-1);
    let reply = await service.post(body);
    while (reply.status === 503) reply = await service.post(body);
    expect(reply.text).toContain('"success":true');
  });
});

describe("a store that the service cannot use any more", () => {
  it.each([
    [
      "the store denies what this service needs to its role",
      (role: string) => `revoke all on all tables in schema public from ${role}`,
      (role: string) => `grant all on all tables in schema public to ${role}`,
    ],
    [
      "the store lacks tables or functions of this service",
      (role: string) => `alter schema public rename to away; create schema public authorization ${role}`,
      () => "drop schema public; alter schema away rename to public",
    ],
  ])(
    "is named in each 503 and not ready, and used again without a restart: %s",
    async (name, take, giveBack) => {
      const first = await services.start();
      const { url } = await databaseWithRole();
      const service = services.closeAfterTest(await first.startOnOtherStore(url));
      const asSuperuser = async (statement: string) => {
        const admin = new URL(url);
        admin.username = new URL(first.databaseUrl).username;
        await queryOnce(admin.href, statement);
      };
      const role = new URL(url).username;
      await asSuperuser(take(role));
      const body = JSON.stringify({ transactions: [innerOf(1)] });
      const refused = await service.post(body);
      expect([refused.status, JSON.parse(refused.text).error.message]).toEqual([
        503,
        expect.stringContaining(name),
      ]);
      const ready = () => service.call("GET", "/v1/ready", undefined, { authorization: `Bearer ${API_KEY}` });
      while ((await ready()).status !== 503);
      await asSuperuser(giveBack(role));
      let reply = await service.post(body);
      while (reply.status === 503) reply = await service.post(body);
      expect(reply.text).toContain('"success":true');
    },
  );
});

describe("the log", () => {
  it("has one record when a trouble begins and one when it is over, however many queries fail", async () => {
    const records: { level: number; trouble?: string; msg: string }[] = [];
    const log = pino({ base: null }, { write: (line: string) => void records.push(JSON.parse(line)) });
    const store = await openStore({ databaseUrl: await services.databases.createDatabase() }, log);
    records.length = 0;
    await services.databases.halt();
    const failures = await Promise.allSettled(
      Array.from({ length: 50 }, () => store.forRole("reading").pool.query("select 1")),
    );
    for (const failure of failures)
      expect(failure).toMatchObject({ status: "rejected", reason: expect.any(StoreUnavailableError) });
    await services.databases.resume();
    while (store.monitor.trouble !== undefined) await new Promise((resolve) => setTimeout(resolve, 20));
    await store.close();
    const kinds = records.map(({ trouble, msg }) => (msg === "the store works again" ? "over" : trouble));
    expect(kinds.at(-1)).toBe("over");
    expect(new Set(kinds).size).toBe(kinds.length);
    expect(kinds.length).toBeLessThanOrEqual(4);
  });
});

describe("the connections of a role", () => {
  it("leave those of other roles alone, however many queries of the role wait", async () => {
    const databaseUrl = await services.databases.createDatabase();
    const store = await openStore({ databaseUrl }, pino({ level: "silent" }));
    const reading = store.forRole("reading").pool;
    const flood = Array.from({ length: 50 }, () => reading.query("select pg_sleep(0.2)"));
    expect((await store.forRole("lanes").pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    const use = store.connectionUse();
    expect(use.find(({ role }) => role === "reading")).toMatchObject({ busy: 4, waiting: 46 });
    expect(use.find(({ role }) => role === "lanes")).toMatchObject({ waiting: 0 });
    await Promise.all(flood);
    await store.close();
  });
});

describe("a queue of notifications that is full", () => {
  it("keeps no operator from revoking a key: somebody listens in another database and leaves a transaction open", async () => {
    const postgres = await new TestPostgres().start();
    onTestFinished(() => postgres.end());
    await postgres.primary.query("alter system set max_notify_queue_pages = 64");
    await postgres.restart("fast");
    const other = { connectionString: await postgres.createEmptyDatabase() };
    const [listener, speaker] = [createConnection(other), createConnection(other)];
    await Promise.all([listener.connect(), speaker.connect()]);
    onTestFinished(async () => void (await Promise.all([listener.end(), speaker.end()])));
    await listener.query("listen other");
    await listener.query("begin; select");
    const fill =
      "do $$ begin for i in 1..1000 loop perform pg_notify('other', repeat('x', 7900) || i); end loop; end $$";
    await expect(speaker.query(fill)).rejects.toThrow("too many notifications");

    const admin = await openKeyAdmin({ databaseUrl: await postgres.createEmptyDatabase() });
    onTestFinished(() => admin.close());
    const { record } = await admin.create("tests", { label: "a key", env: "dev" });
    expect(await admin.revoke("tests", record.id)).toMatchObject({ state: "revoked" });
  });
});
