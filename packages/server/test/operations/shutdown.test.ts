// The shutdown: signed submissions are finished, new requests are refused, and nothing takes too long.
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { GOOD_HEADERS, outcomeOf, testServices } from "../support/testService.js";
import { accountsOf, hashOf, innerOf } from "../support/user.js";

const services = testServices();
const INCLUDED = { query: "?wait=included" };

describe("a service that is closed", () => {
  it("works on while clients wait for lines", async () => {
    const service = await services.start({ shutdownMs: 20_000 }, { automine: false });
    const nodeAnswer = deferred();
    service.node.holdSends(nodeAnswer.promise);
    const lines = service.submit([innerOf(1), innerOf(2)], INCLUDED);
    await service.node.until(({ sent }) => sent.length > 0);
    await service.until("select from submissions having count(*) = 2");
    const closing = service.server.close();
    nodeAnswer.resolve();
    await service.node.until(({ chain }) => chain.pending.length === 2);
    service.node.mine();
    expect((await lines).map(outcomeOf)).toEqual(["success", "success"]);
    await closing;
  });

  it("finishes the batch on the wire, and leaves the queue that nobody waits for to the next service", async () => {
    const service = await services.start({ maxBatchSize: 300, shutdownMs: 20_000 });
    const nodeAnswer = deferred();
    service.node.once({ kind: "later", after: nodeAnswer.promise });
    const body = JSON.stringify({ transactions: Array.from({ length: 300 }, (_, i) => innerOf(1 + i)) });
    const response = await service.open("POST", "/v1/submit", body, GOOD_HEADERS);
    await service.node.until(({ sent }) => sent.length > 0);
    const onTheWire = service.node.sent.length;
    await service.until("select from submissions having count(*) = 300");
    response.destroy();
    const closing = service.server.close();
    nodeAnswer.resolve();
    await closing;
    const rows = await service.rows();
    const queued = rows.filter(({ state }) => state === "queued");
    expect(rows.filter(({ state }) => state === "signed")).toEqual([]);
    expect(rows.length - queued.length).toBeGreaterThanOrEqual(onTheWire);

    const next = services.closeAfterTest(await service.startReplica());
    await next.node.until(({ chain }) => chain.executed.length === 300);
    expect(new Set(next.node.chain.executed).size).toBe(300);
    expect(new Set(next.node.sent).size).toBe(300);
  });

  it("refuses further requests with 503 and Retry-After", async () => {
    const service = await services.start({ shutdownMs: 20_000 });
    const nodeAnswer = deferred();
    service.node.holdSends(nodeAnswer.promise);
    const lines = service.submit([innerOf(1)]);
    await service.node.until(({ sent }) => sent.length === 1);
    const closing = service.server.close();
    const reply = await service.post(JSON.stringify({ transactions: [innerOf(2)] }));
    expect(reply.status).toBe(503);
    expect(reply.headers["retry-after"]).toBeDefined();
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
    nodeAnswer.resolve();
    expect((await lines).map(outcomeOf)).toEqual(["success"]);
    await closing;
    expect(await service.rows()).toHaveLength(1);
  });

  it.each([
    ["sends", ["eth_sendRawTransaction"]],
    ["everything", undefined],
  ])("ends soon after shutdownMs even if the node hangs on %s", async (_, methods) => {
    const service = await services.start({ shutdownMs: 300, rpcTimeoutMs: 600_000 }, { automine: false });
    await service.submit([innerOf(1)]);
    service.node.script = (arrival) =>
      methods === undefined || arrival.methods.some((method) => methods.includes(method))
        ? { kind: "silence", carriedOut: false }
        : undefined;
    const before = service.node.sent.length;
    const lines = service.submit([innerOf(2)]);
    await service.until("select from submissions having count(*) = 2");
    if (methods !== undefined) await service.node.until(({ sent }) => sent.length > before);
    const closedAt = performance.now();
    await service.server.close();
    // With a margin for a busy machine. The call to the node would time out far later.
    expect(performance.now() - closedAt).toBeLessThan(15_000);
    expect((await lines).map(outcomeOf)[0]).toMatch(/^TIMEOUT\/(NOT_BROADCAST|OUTCOME_UNKNOWN)$/);
  });

  it.each([
    ["has sent no request", ""],
    ["has sent half a request", "POST /v1/submit HTTP/1.1\r\nHost: localhost\r\nContent-Len"],
  ])("does not wait for a client that %s", async (_, sent) => {
    const service = await services.start();
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(sent);
    // After this answer on another connection, the service has read what the client sent.
    await service.call("GET", "/v1/health");
    const ended = once(socket, "close");
    await service.server.close();
    await ended;
  });

  it("ends at once if its node was never reached", async () => {
    const service = await services.start();
    await service.server.close();
    await service.node.close();
    const next = await service.startReplica({ shutdownMs: 600_000 });
    const keys = next.server.setWaivers(accountsOf(new Uint8Array(32).fill(9)));
    await next.server.close();
    await keys;
  });

  it("hands its lanes to a process that starts at once, before the lease would expire", async () => {
    const service = await services.start({ leaseMs: 600_000 });
    await service.submit([innerOf(1)], INCLUDED);
    await service.server.close();
    expect(await service.query("select from lanes where owner is not null")).toEqual([]);
    const next = services.closeAfterTest(await service.startReplica());
    expect((await next.submit([innerOf(2)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    expect(next.node.chain.executed).toEqual([innerOf(1), innerOf(2)].map(hashOf));
  });
});
