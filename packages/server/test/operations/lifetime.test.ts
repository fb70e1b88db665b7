// Submissions survive the end of their client, of the database, and of the service.
import { describe, expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { ScriptedNode } from "../support/scriptedNode.js";
import { startServiceProcess } from "../support/serviceProcess.js";
import { GOOD_HEADERS, outcomeOf, TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf, WAIVER } from "../support/user.js";

const services = testServices({ reach: "tcp" });

describe("a client that leaves", () => {
  it("cancels no submission (D19)", async () => {
    const service = await services.start({}, { automine: false });
    const nodeAnswer = deferred();
    service.node.holdSends(nodeAnswer.promise);
    const body = JSON.stringify({ transactions: [innerOf(1), "0x"] });
    const response = await service.open("POST", "/v1/submit", body, GOOD_HEADERS);
    await service.node.until(({ sent }) => sent.length === 1);
    response.destroy();
    nodeAnswer.resolve();
    await service.node.until(({ chain }) => chain.pending.length === 1);
    service.node.mine();
    expect(service.node.chain.executed).toEqual([hashOf(innerOf(1))]);
    service.node.script = undefined;
    expect((await service.submit([innerOf(1), innerOf(2)])).map(outcomeOf)).toEqual(["success", "success"]);
  });
});

describe("a service whose database is unavailable when its lanes start", () => {
  it("starts them when the database is back", async () => {
    const first = await services.start();
    await first.server.close();
    // Each start writes its lane twice: when it registers the lane, and when it acquires the lease.
    await first.query(`create sequence writes`);
    await first.query(`create function fail() returns trigger language plpgsql as $$ begin
      if nextval('writes') = 2 then raise exception using errcode = 'admin_shutdown'; end if;
      return new; end $$`);
    await first.query("create trigger fail before insert on lanes for each row execute function fail()");
    const next = services.closeAfterTest(await first.startReplica());
    expect((await next.submit([innerOf(1)], { query: "?wait=included" })).map(outcomeOf)).toEqual([
      "success",
    ]);
    const [writes] = await next.query<{ last: string }>("select last_value as last from writes");
    expect(Number(writes?.last)).toBeGreaterThan(2);
  });
});

describe("a service that is closed", () => {
  it("answers open lines and ends soon, and the next service on the same store goes on", async () => {
    const changes = { rpcTimeoutMs: 600_000, shutdownMs: 300 };
    const service = await services.start(changes, { automine: false });
    service.node.onSends({ kind: "silence", carriedOut: false });
    const lines = service.submit([innerOf(1)]);
    await service.node.until(({ sent }) => sent.length === 1);
    const closedAt = performance.now();
    await service.server.close();
    // With a margin for a busy machine. The call to the node would time out far later.
    expect(performance.now() - closedAt).toBeLessThan(15_000);
    const [line] = await lines;
    expect(outcomeOf(line)).toBe("TIMEOUT/OUTCOME_UNKNOWN");
    expect(line).toMatchObject({ error: { message: expect.stringContaining("shutting down") } });

    service.node.script = undefined;
    service.node.automine = true;
    const next = services.closeAfterTest(await service.startReplica());
    expect(next.server.earlierSubmissions).toBe(1);
    await service.node.until(({ chain }) => chain.executed.length === 1);
    const [again] = await next.submit([innerOf(1)], { query: "?wait=included" });
    expect(again).toMatchObject({ id: line?.id, success: true });
    expect(new Set(service.node.sent).size).toBe(1);
  });

  it("may be closed twice, and right after its start", async () => {
    const service = await services.start();
    await Promise.all([service.server.close(), service.server.close()]);
  });

  it("waits for inclusion until shutdownMs have passed", async () => {
    const service = await services.start({ shutdownMs: 300 }, { automine: false });
    const lines = service.submit([innerOf(1)], { query: "?wait=included" });
    await service.node.until(({ chain }) => chain.pending.length === 1);
    await service.server.close();
    expect((await lines).map(outcomeOf)[0]).toMatch(/^TIMEOUT\/(NOT_INCLUDED|OUTCOME_UNKNOWN)$/);
  });
});

describe("a database that is unavailable", () => {
  it("makes requests fail with 503 UNAVAILABLE and Retry-After until it is back", async () => {
    const service = await services.start();
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["success"]);
    await services.databases.halt();
    const reply = await service.post(JSON.stringify({ transactions: [innerOf(2)] }));
    expect(reply.status).toBe(503);
    expect(reply.headers["retry-after"]).toBe("1");
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "UNAVAILABLE", reason: "STORE_UNAVAILABLE" });
    expect((await service.call("GET", "/v1/health")).status).toBe(200);
    await services.databases.resume();
    expect((await service.submit([innerOf(2)])).map(outcomeOf)).toEqual(["success"]);
  });

  it("does not end an open result line or its submission, which complete when it is back", async () => {
    const service = await services.start({ rpcTimeoutMs: 300 }, { automine: false });
    service.node.once({ kind: "silence", carriedOut: false });
    const lines = service.submit([innerOf(1)]);
    await service.node.until(({ sent }) => sent.length === 1);
    await services.databases.halt();
    await services.databases.resume();
    expect((await lines).map(outcomeOf)).toEqual(["success"]);
  });
});

describe("a service that is killed", () => {
  it("between accept and broadcast is replaced by one that executes the transaction exactly once", async () => {
    const node = await ScriptedNode.start();
    node.onSends({ kind: "silence", carriedOut: false });
    const databaseUrl = await services.databases.createDatabase();
    const child = await startServiceProcess(databaseUrl, node.url);
    const batch = [innerOf(1), innerOf(1, 1), innerOf(2)];
    const answer = child.post(batch).catch(() => "no answer");
    await node.until(({ sent }) => sent.length === 3);
    await child.kill();
    await answer;

    node.script = undefined;
    const service = services.closeAfterTest(await TestService.start({ node, databaseUrl, changes: {} }));
    expect(service.server.earlierSubmissions).toBe(3);
    await node.until(({ chain }) => chain.executed.length === 3);
    expect(new Set(node.sent).size).toBe(3);
    const lines = await service.submit(batch, { query: "?wait=included" });
    expect(lines.map(outcomeOf)).toEqual(Array(3).fill("success"));
    expect(node.chain.nonceOf(WAIVER)).toBe(3n);
    await service.server.close();
    await node.close();
  });
});
