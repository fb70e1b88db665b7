// GET /v1/ready, and the probes /livez and /readyz of the operators' port (D24).
import { parseReadiness } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { createConnection } from "../../src/store/database/database.js";
import { deferred } from "../support/deferred.js";
import { setLaneState, untilOwned } from "../support/laneStates.js";
import { GOOD_HEADERS, outcomeOf, type TestService, testServices } from "../support/testService.js";
import { innerOf, WAIVER } from "../support/user.js";

const services = testServices({ reach: "tcp", patience: { speed: 10 } });

async function readyOf(service: TestService) {
  const { status, text } = await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
  return { status, body: parseReadiness(JSON.parse(text)) };
}

const DEAD_REPLICA = "00000000-0000-4000-8000-000000000000";

describe("GET /v1/ready", () => {
  it("answers 200 when store, node and a waiver can be used", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)]);
    // A loaded machine shows a trouble of a moment in the message of a part.
    await expect
      .poll(() => readyOf(service), { timeout: 60_000 })
      .toEqual({
        status: 200,
        body: {
          ready: true,
          parts: { store: { ok: true }, chain: { ok: true }, waivers: { ok: true, usable: 1 } },
        },
      });
  });

  it("answers 503 and names the node when it cannot be reached for a while, and 200 when it is back", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)]);
    const chainOf = async () => {
      const { status, body } = await readyOf(service);
      return { status, chain: body.parts.chain };
    };
    const well = { status: 200, chain: { ok: true } };
    await expect.poll(chainOf, { timeout: 60_000 }).toEqual(well);
    await service.node.close();
    // The unit tests of readiness hold the answers until then, by a clock of their own.
    const away = (why: string) => ({
      status: 503,
      chain: {
        ok: false,
        message: expect.stringMatching(`^the node cannot be used; node 1: the node ${why}`),
      },
    });
    await expect.poll(chainOf, { timeout: 60_000 }).toEqual(away("gave no answer: E[A-Z]+$"));
    service.node.script = () => ({ kind: "answer", status: 402, body: "the balance is exhausted" });
    await service.node.open();
    await expect
      .poll(chainOf, { timeout: 60_000 })
      .toEqual(away("answered HTTP 402 .*: the balance is exhausted$"));
    service.node.script = undefined;
    await expect.poll(chainOf, { timeout: 60_000 }).toEqual(well);
  });

  it("answers 503 and says that another program locks the store, also where some statements of the store go on", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)]);
    const colleague = createConnection({ connectionString: service.databaseUrl });
    await colleague.connect();
    await colleague.query("begin; lock table unfinished in access exclusive mode");
    const storeOf = async () => (await readyOf(service)).body.parts.store.message;
    await expect.poll(storeOf, { timeout: 60_000 }).toBe("another program keeps locked what the store needs");
    await colleague.end();
  });

  it("stays 200 while a lane changes its owner, and is 503 from draining on until the reopened lane has one", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)]);
    expect((await readyOf(service)).status).toBe(200);
    // The lane's owner is a replica that has died, and its lease has just ended.
    await service.query(
      `update lanes set owner = '${DEAD_REPLICA}', epoch = epoch + 1, lease_until = now() - interval '1 ms'`,
    );
    await service.until(
      `select from lanes where owner is not null and owner <> '${DEAD_REPLICA}' and not watch_only`,
    );
    expect((await readyOf(service)).status).toBe(200);
    await setLaneState(service, WAIVER, "draining");
    await service.until("select from lanes where state = 'retired'");
    // An answer may be a second old.
    await expect.poll(async () => (await readyOf(service)).status, { timeout: 60_000 }).toBe(503);
    await service.query("update lanes set state = 'open'");
    await expect.poll(async () => (await readyOf(service)).status, { timeout: 60_000 }).toBe(200);
    expect(await service.query("select from lanes where owner is not null and not watch_only")).toHaveLength(
      1,
    );
  });

  it("answers 503 when no lane takes work", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)]);
    await service.query("update lanes set state = 'draining'");
    const { status, body } = await readyOf(service);
    expect([status, body.ready, body.parts.waivers]).toMatchObject([503, false, { ok: false, usable: 0 }]);
  });

  it("answers 503 where nothing at all may be sent (D4)", async () => {
    const service = await services.start({ allowedTargets: [] });
    await untilOwned(service, [WAIVER]);
    const { status, body } = await readyOf(service);
    const message = `no waiver takes work; the policy of ${WAIVER} permits nothing`;
    expect([status, body.ready, body.parts.waivers]).toEqual([503, false, { ok: false, usable: 0, message }]);
    const [line] = await service.submit([innerOf(1)]);
    expect(outcomeOf(line)).toMatch(/^VALIDATION_FAILED\/(TARGET|SELECTOR)_NOT_ALLOWED$/);
  });

  it("needs an API key", async () => {
    const service = await services.start();
    const reply = await service.call("GET", "/v1/ready");
    expect(reply.status).toBe(401);
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "UNAUTHORIZED", reason: "MISSING_KEY" });
  });
});

describe("the probes of the operators' port", () => {
  const probesOf = async (service: TestService) => {
    const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    return async (path: string) => {
      const response = await fetch(`${url}${path}`);
      return { status: response.status, body: await response.json() };
    };
  };

  it("answer without an API key what /v1/health and /v1/ready answer, and the public port has neither", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)]);
    const probe = await probesOf(service);
    const health = await service.call("GET", "/v1/health");
    expect(await probe("/livez")).toEqual({ status: 200, body: JSON.parse(health.text) });
    expect(await probe("/readyz")).toEqual(await readyOf(service));
    for (const path of ["/livez", "/readyz"]) expect((await service.call("GET", path)).status).toBe(404);
  });

  it("keep a replica that was ready once while all replicas lack chain and lanes alike, and take it out without a store", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)]);
    const probe = await probesOf(service);
    await expect.poll(async () => (await probe("/readyz")).status, { timeout: 60_000 }).toBe(200);
    await service.node.close();
    await service.query("update lanes set state = 'draining'");
    const bothOf = async () => {
      const [ready, replica] = [await readyOf(service), await probe("/readyz")];
      return [ready.status, ready.body.parts.chain.ok, ready.body.parts.waivers.ok, replica.status];
    };
    await expect.poll(bothOf, { timeout: 60_000 }).toEqual([503, false, false, 200]);
    expect((await probe("/readyz")).body).toMatchObject({ ready: true, parts: { chain: { ok: false } } });
    await services.databases.halt();
    await expect.poll(async () => (await probe("/readyz")).status, { timeout: 60_000 }).toBe(503);
    expect((await probe("/livez")).status).toBe(200);
    await services.databases.resume();
    await expect.poll(async () => (await probe("/readyz")).status, { timeout: 60_000 }).toBe(200);
  });

  it("say of a replica that was never ready that work should go to another", async () => {
    const first = await services.start();
    await first.query("update lanes set state = 'draining'");
    await first.until("select from lanes where state = 'retired'");
    const probe = await probesOf(services.closeAfterTest(await first.startReplica()));
    const { status, body } = await probe("/readyz");
    expect([status, body.ready, body.parts.waivers.ok]).toEqual([503, false, false]);
  });

  it("say during the shutdown that the service lives and takes nothing more", async () => {
    const service = await services.start({ shutdownMs: 20_000 });
    const probe = await probesOf(service);
    const nodeAnswer = deferred();
    service.node.holdSends(nodeAnswer.promise);
    const lines = service.submit([innerOf(1)]);
    await service.node.until(({ sent }) => sent.length === 1);
    const closing = service.server.close();
    expect((await probe("/livez")).status).toBe(200);
    const message = "the service is shutting down";
    expect(await probe("/readyz")).toMatchObject({
      status: 503,
      body: { ready: false, parts: { service: { ok: false, message } } },
    });
    nodeAnswer.resolve();
    await lines;
    await closing;
  });
});
