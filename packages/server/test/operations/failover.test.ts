// The database's primary fails, is replaced, or loses its standby, while the service runs.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Pool } from "../../src/store/database/database.js";
import type { StoreUnavailableError } from "../../src/store/database/storeTrouble.js";
import { openStore } from "../../src/store/store.js";
import { ScriptedNode } from "../support/scriptedNode.js";
import { silent, TestPostgres } from "../support/testPostgres.js";
import { GOOD_HEADERS, outcomeOf, type Reply, TestService } from "../support/testService.js";
import { hashOf, innerOf } from "../support/user.js";

let postgres: TestPostgres;
let node: ScriptedNode;
let service: TestService;
beforeEach(async () => {
  postgres = await new TestPostgres().start();
  node = await ScriptedNode.start();
  service = await TestService.start({
    node,
    databaseUrl: await postgres.createDatabase(),
    changes: {},
    patience: { speed: 10 },
  });
});
afterEach(async () => {
  await service.server.close();
  await node.close();
  await postgres.end();
});

const bodyOf = (user: number) => JSON.stringify({ transactions: [innerOf(user)] });

/** Submits until the reply is as expected. Every other refusal must be a 503 that names the store. */
async function postUntil(isExpected: (reply: Reply) => boolean, user: number): Promise<Reply> {
  for (;;) {
    const reply = await service.post(bodyOf(user));
    if (isExpected(reply)) return reply;
    if (reply.status !== 200) {
      expect([reply.status, reply.headers["retry-after"]]).toEqual([503, "1"]);
      expect(JSON.parse(reply.text).error.reason).toBe("STORE_UNAVAILABLE");
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const isSuccess = ({ status, text }: Reply) => status === 200 && text.includes('"success":true');

describe("a failover", () => {
  it("with a synchronous standby loses no submission that was reported as a success; the service goes on by itself", async () => {
    await postgres.addStandby("synchronous");
    const reported: string[] = [];
    let isOver = false;
    const load = async (first: number) => {
      for (let user = first; !isOver; user++) {
        const reply = await service.post(bodyOf(user)).catch(() => undefined);
        if (reply && isSuccess(reply)) reported.push(hashOf(innerOf(user)));
      }
    };
    const loads = [load(1), load(1_000), load(2_000)];
    while (reported.length < 10) await new Promise((resolve) => setTimeout(resolve, 10));
    await postgres.failOver();
    const before = reported.length;
    while (reported.length < before + 10) await new Promise((resolve) => setTimeout(resolve, 10));
    isOver = true;
    await Promise.all(loads);
    const rows = await service.query<{ hash: string }>(
      "select '0x' || encode(inner_hash, 'hex') as hash from submissions",
    );
    const stored = new Set(rows.map(({ hash }) => hash));
    expect(reported.filter((hash) => !stored.has(hash))).toEqual([]);
    expect(new Set(node.chain.executed).size).toBe(node.chain.executed.length);
  });

  it("to another server behind the same name, with the old one read-only, is followed without a restart", async () => {
    await service.submit([innerOf(1)]);
    await postgres.addStandby("asynchronous");
    await postgres.switchOver();
    const refused = await service.post(bodyOf(2));
    if (refused.status !== 200) {
      expect(JSON.parse(refused.text).error).toMatchObject({
        reason: "STORE_UNAVAILABLE",
        message: expect.stringContaining("the store is read-only"),
      });
    }
    await postUntil(isSuccess, 2);
    expect(node.chain.executed).toEqual([1, 2].map((user) => hashOf(innerOf(user))));
  });

  it("to another server behind the same name, while the old one still takes writes, leaves it with no connection", async () => {
    await service.submit([innerOf(1)]);
    await postgres.addStandby("asynchronous");
    const old = await postgres.switchOver({ isFenced: false });
    const connections = `select from pg_stat_activity where datname = '${service.databaseUrl.split("/").at(-1)}'
      and application_name like 'gas-waiver%'`;
    // Busy connections are never idle for long enough to be closed for that.
    for (let user = 2; (await old.query(connections)).length > 0; user++) await service.post(bodyOf(user));
    await postUntil(isSuccess, 1_000);
    const [row] = await service.query("select state from submissions where inner_hash = $1", [
      Buffer.from(hashOf(innerOf(1_000)).slice(2), "hex"),
    ]);
    expect(row).toBeDefined();
    expect(new Set(node.chain.executed).size).toBe(node.chain.executed.length);
  });

  it("leaves no reader on a connection to the old one", async () => {
    const reading = new Pool({ connectionString: service.databaseUrl, maxConnections: 1 });
    const readServer = () =>
      reading
        .query<{ readOnly: string }>(`select current_setting('default_transaction_read_only') as "readOnly"`)
        .then(
          ({ rows }) => rows[0]?.readOnly,
          (error: StoreUnavailableError) => error.trouble.kind,
        );
    expect(await readServer()).toBe("off");
    await postgres.addStandby("asynchronous");
    await postgres.switchOver();
    let seen = await readServer();
    while (seen === "off") seen = await readServer();
    expect([seen, await readServer()]).toEqual(["readOnly", "off"]);
    await reading.end();
  });
});

describe("a synchronous standby that is stopped", () => {
  it("makes requests fail with 503 and its name, and readiness with it, until it is back", async () => {
    await postgres.addStandby("synchronous");
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["success"]);
    await postgres.stopStandby();
    // This commit waits for the standby; the request is answered when the standby is back.
    const waiting = service.post(bodyOf(2));
    const storePart = async () => {
      const reply = await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
      return JSON.parse(reply.text).parts.store;
    };
    let store = await storePart();
    // Writes that wait may take all connections before the service asks for the standby.
    while (store.ok || store.message.includes("are in use")) store = await storePart();
    expect(store.message).toContain("synchronous standby is away");
    const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('gas_waiver_store_trouble{kind="noStandby"} 1');
    const refused = await service.post(bodyOf(3));
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
    expect(JSON.parse(refused.text).error.message).toContain("the store's synchronous standby is away");
    await postgres.startStandby();
    await postUntil(isSuccess, 3);
    expect(isSuccess(await waiting)).toBe(true);
  });

  it("makes a service that requires one refuse requests when commits no longer wait for it", async () => {
    await postgres.addStandby("synchronous");
    const strict = await service.startReplica({ requireSynchronousStandby: true });
    await postgres.primary.query(
      "alter system set synchronous_standby_names = ''",
      "select pg_reload_conf()",
    );
    let reply: Reply;
    do reply = await strict.post(bodyOf(4));
    while (reply.status === 200);
    await strict.server.close();
    expect(JSON.parse(reply.text).error).toMatchObject({
      reason: "STORE_UNAVAILABLE",
      message: expect.stringContaining("no synchronous standby, which this service requires"),
    });
  });
});

describe("a new connection to a server whose commits wait for no standby, as after a promotion", () => {
  it("accepts nothing for a service that requires one, from the first request on", async () => {
    await postgres.addStandby("synchronous");
    const strict = await service.startReplica({ requireSynchronousStandby: true });
    const { primary } = postgres;
    await primary.query("alter system set synchronous_standby_names = ''", "select pg_reload_conf()");
    const isReloaded = "select where current_setting('synchronous_standby_names') = ''";
    while ((await primary.query(isReloaded)).length === 0);
    await primary.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'gas-waiver%'",
    );
    const replies = await Promise.all([5, 6, 7].map((user) => strict.post(bodyOf(user))));
    await strict.server.close();
    expect(replies.map(({ status }) => status)).toEqual([503, 503, 503]);
  });
});

describe("a commit whose wait for the standby is cancelled", () => {
  it("is not reported as done, also where the database sends no warnings by default", async () => {
    const databaseUrl = await postgres.createDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    await postgres.primary.query(`alter database ${name} set client_min_messages = error`);
    const store = await openStore({ databaseUrl }, silent);
    await store.pool.query("create table promises (number integer)");
    await postgres.addStandby("synchronous");
    await postgres.stopStandby();
    const write = store.pool.query("insert into promises values (1)").then(
      () => "done",
      (error: Error) => error.message,
    );
    const cancelled =
      "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and query like 'insert%'";
    while ((await postgres.primary.query(cancelled)).length === 0);
    expect(await write).toContain("the wait for the synchronous standby was cancelled");
    await postgres.startStandby();
    await store.close();
  });
});
