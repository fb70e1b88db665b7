// Keys of the store (D25): their scopes and limits, and how fast a change applies on every replica.
import { bytesToHex, parseResultLine } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type OpenKeyAdmin, openKeyAdmin } from "../../src/keys/keyAdmin.js";
import { beginRequest } from "../support/beginRequest.js";
import { outcomeOf, type Reply, type TestService, testServices } from "../support/testService.js";
import { TestSocket } from "../support/testSocket.js";
import { hashOf, innerOf, TOKEN } from "../support/user.js";

const services = testServices();
const admins: OpenKeyAdmin[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const admin of admins.splice(0)) await admin.close();
});

async function adminOf(service: TestService): Promise<OpenKeyAdmin> {
  const admin = await openKeyAdmin({ databaseUrl: service.databaseUrl });
  admins.push(admin);
  return admin;
}

const authorizedBy = (key: string) => ({
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
});
const bodyOf = (...transactions: string[]) => JSON.stringify({ transactions });

/** Resolves when the service answers the key with this status, because the notification of a change has arrived. */
async function untilStatus(service: TestService, key: string, status: number): Promise<void> {
  for (;;) {
    const reply = await service.call(
      "GET",
      `/v1/submissions/${"0".repeat(8)}`,
      undefined,
      authorizedBy(key).headers,
    );
    if (reply.status === status) return;
  }
}

/** Resolves when the service knows a new key, which may name no submission by its id if it is publishable. */
const untilKnown = (service: TestService, key: string, input: object) =>
  untilStatus(service, key, "publishable" in input ? 403 : 404);

/** Starts a service without configured keys, and creates a key in its store. */
async function withKey(input: object, node = {}) {
  const service = await services.start({ apiKeys: [] }, node);
  const admin = await adminOf(service);
  const { key, record } = await admin.create("tests", { label: "a test's", ...input });
  await untilKnown(service, key, input);
  return { service, admin, key, id: record.id };
}

describe("a key of the store", () => {
  it("has its own scope, gas, calldata and batch limits, and an error that names the scope of the key", async () => {
    const allowedTargets = [{ address: "*", selectors: ["0xa9059cbb"] }];
    const limits = { maxGasLimit: 90_000, maxDataLength: 4, maxBatchSize: 5 };
    const { service, key } = await withKey({ allowedTargets, limits });
    const approve = innerOf(1, 0, { data: Uint8Array.of(0x09, 0x5e, 0xa7, 0xb3), gasLimit: 90_000n });
    const long = innerOf(2, 0, { data: Uint8Array.of(0xa9, 0x05, 0x9c, 0xbb, 1), gasLimit: 90_000n });
    const good = innerOf(4, 0, { gasLimit: 90_000n });
    const lines = await service.submit([approve, long, innerOf(3), good], authorizedBy(key));
    expect(lines.map(outcomeOf)).toEqual([
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
      "VALIDATION_FAILED/DATA_TOO_LONG",
      "VALIDATION_FAILED/GAS_LIMIT_TOO_HIGH",
      "success",
    ]);
    expect(lines[0]).toMatchObject({
      error: { message: expect.stringContaining("not permitted by the scope of this API key") },
    });
    const many = await service.post(bodyOf(...Array(6).fill("0x")), authorizedBy(key));
    expect(JSON.parse(many.text).error).toMatchObject({ reason: "BATCH_TOO_LARGE" });
  });

  it("gets its own scope and limits from GET /v1/policy, and their refusals from a check", async () => {
    const allowedTargets = [{ address: "*", selectors: ["0xa9059cbb"] }];
    const limits = { maxGasLimit: 90_000, ratePerSecond: 7, rateBurst: 150, queueShare: 0.1 };
    const { service, key } = await withKey({ allowedTargets, limits });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const policy = await service.call("GET", "/v1/policy", undefined, headers);
    // The part of the scope that the waiver permits: the token's transfer.
    const scope = [{ address: bytesToHex(TOKEN), selectors: ["0xa9059cbb"] }];
    expect(JSON.parse(policy.text)).toMatchObject({
      allowedTargets: scope,
      waivers: [{ allowedTargets: scope }],
      limits: { maxGasLimit: "90000", ratePerSecond: 7, rateBurst: 150, maxQueued: 1_000, maxBatchSize: 100 },
    });
    const approve = innerOf(1, 0, { data: Uint8Array.of(0x09, 0x5e, 0xa7, 0xb3), gasLimit: 90_000n });
    const checked = await service.call("POST", "/v1/check", bodyOf(approve, innerOf(2)), headers);
    const lines = checked.text.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        error: {
          reason: "SELECTOR_NOT_ALLOWED",
          message: expect.stringContaining("the scope of this API key"),
        },
      },
      { error: { reason: "GAS_LIMIT_TOO_HIGH" } },
    ]);
  });

  it("has its own rate, with the RateLimit fields", async () => {
    const { service, key } = await withKey({ limits: { ratePerSecond: 1, rateBurst: 100 } });
    const many = (count: number) => bodyOf(...Array(count).fill("0x"));
    const first = await service.post(many(100), authorizedBy(key));
    expect(first.headers).toMatchObject({
      "ratelimit-policy": '"transactions";q=100;w=100',
      ratelimit: '"transactions";r=0;t=100',
    });
    expect((await service.post(many(50), authorizedBy(key))).status).toBe(429);
  });

  it.each([
    ["by its length", { "content-length": "2000" }],
    ["as it comes", { "transfer-encoding": "chunked" }],
  ])("has its own limit of a body's size, %s", async (_, headers) => {
    const { service, key } = await withKey({ limits: { maxBodyBytes: 1_024 } });
    const body = bodyOf("x".repeat(2_000)).slice(0, 2_000);
    const reply = await service.post(body, { headers: { ...authorizedBy(key).headers, ...headers } });
    expect(reply.status).toBe(413);
    const details = { retry: "corrected", maxBodyBytes: 1_024 };
    expect(JSON.parse(reply.text).error).toMatchObject({ reason: "BODY_TOO_LARGE", details });
    const small = { headers: { ...authorizedBy(key).headers, "transfer-encoding": "chunked" } };
    expect((await service.post(bodyOf(innerOf(1)), small)).status).toBe(200);
    const socket = await TestSocket.open(service, key);
    socket.send({ id: 1, transactions: ["x".repeat(2_000)] });
    expect(await socket.closed).toBe(1009);
  });

  it("has limits that change for open connections", async () => {
    const { service, admin, key, id } = await withKey({});
    const socket = await TestSocket.open(service, key);
    await admin.update("tests", id, { limits: { maxBatchSize: 1 } });
    for (let request = 0; ; request++) {
      socket.send({ id: request, transactions: ["0x", "0x"] });
      const last = (await socket.framesOfRequest()).at(-1);
      if ("done" in (last ?? {})) continue;
      expect(last).toMatchObject({ error: { reason: "BATCH_TOO_LARGE" } });
      break;
    }
    socket.socket.terminate();
  });
});

describe("a change of a key while a body arrives", () => {
  const rpc = (raw: string) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_sendRawTransaction", params: [raw] });
  const scope = (selector: string) => [{ address: bytesToHex(TOKEN), selectors: [selector] }];
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const publishable = { publishable: true, origins: ["wallets"] };

  it.each([
    ["/v1/submit", {}, () => "/v1/submit", bearer, bodyOf],
    ["/v1/check", {}, () => "/v1/check", bearer, bodyOf],
    ["the gateway", {}, () => "/rpc/secret", bearer, rpc],
    ["the gateway with a publishable key", publishable, (key: string) => `/rpc/${key}`, () => ({}), rpc],
  ])("binds it on %s", async (_, input, pathFor, headersFor, bodyFor) => {
    const made = { allowedTargets: scope("0xa9059cbb"), ...input };
    const { service, admin, key, id } = await withKey(made);
    const other = await admin.create("tests", { label: "another", ...made });
    await untilKnown(service, other.key, input);
    const begin = (one: string) =>
      beginRequest(`${service.url}${pathFor(one)}`, headersFor(one), () => service.call("GET", "/v1/health"));
    const [narrowed, revoked] = [await begin(key), await begin(other.key)];
    await admin.update("tests", id, { allowedTargets: scope("0x095ea7b3") });
    await admin.revoke("tests", other.record.id);
    await untilStatus(service, other.key, 401);
    expect((await narrowed(bodyFor(innerOf(1)))).text).toContain("SELECTOR_NOT_ALLOWED");
    expect(await revoked(bodyFor(innerOf(2)))).toMatchObject({
      status: 401,
      text: expect.stringContaining("KEY_REVOKED"),
    });
    expect(await service.rows()).toEqual([]);
  });
});

describe("two replicas", () => {
  it("share one rate", async () => {
    const { service: first, key } = await withKey({ limits: { ratePerSecond: 1, rateBurst: 40 } });
    const second = services.closeAfterTest(await first.startReplica());
    const post = (service: TestService, count: number) =>
      service.post(bodyOf(...Array(count).fill("0x")), authorizedBy(key));
    const startedAt = performance.now();
    /** One token comes back in each second that has begun in the meantime. */
    const expectTokens = (tokens: unknown, atStart: number) => {
      expect(Number(tokens)).toBeGreaterThanOrEqual(atStart);
      expect(Number(tokens)).toBeLessThanOrEqual(
        atStart + Math.ceil((performance.now() - startedAt) / 1_000),
      );
    };
    const remaining = ({ headers }: Reply) => /;r=(\d+);/.exec(String(headers.ratelimit))?.[1];
    expectTokens(remaining(await post(first, 30)), 10);
    expectTokens(remaining(await post(second, 8)), 2);
    const refused = await post(second, 20);
    expect(refused.status).toBe(429);
    expectTokens(remaining(refused), 2);
    expectTokens(20 - Number(refused.headers["retry-after"]), 2);
    expect((await post(first, 20)).status).toBe(429);
  });
});

describe("a key that is revoked", () => {
  it("has its WebSockets closed after the notification, without polling", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const { service: first, admin, key, id } = await withKey({});
    const second = services.closeAfterTest(await first.startReplica());
    const sockets = await Promise.all([first, second].map((service) => TestSocket.open(service, key)));
    await admin.revoke("tests", id);
    expect(await Promise.all(sockets.map(({ closed }) => closed))).toEqual([1008, 1008]);
  });

  it("is refused on all replicas within 5 s; WebSockets are closed, streams end after a whole line", async () => {
    const { service: first, admin, key, id } = await withKey({}, { automine: false });
    const second = services.closeAfterTest(await first.startReplica());
    const sockets = await Promise.all([first, second].map((service) => TestSocket.open(service, key)));
    const streams = await Promise.all(
      [first, second].map((service, i) =>
        service.open(
          "POST",
          "/v1/submit?wait=included",
          bodyOf("0x", innerOf(1 + i)),
          authorizedBy(key).headers,
        ),
      ),
    );
    const texts = streams.map(async (stream) => {
      let text = "";
      for await (const chunk of stream.setEncoding("utf8")) text += chunk;
      return text;
    });
    await first.node.until(({ chain }) => chain.pending.length === 2);

    const revokedAt = performance.now();
    await admin.revoke("tests", id);
    expect(await Promise.all(sockets.map(({ closed }) => closed))).toEqual([1008, 1008]);
    const ended = await Promise.all(texts);
    expect(performance.now() - revokedAt).toBeLessThan(5_000);
    for (const text of ended) {
      expect(text).toMatch(/^[^\n]*\n$/);
      expect(parseResultLine(JSON.parse(text))).toMatchObject({ index: 0, success: false });
    }
    for (const service of [first, second]) {
      const reply = await service.post(bodyOf(innerOf(3)), authorizedBy(key));
      expect(reply.status).toBe(401);
      expect(JSON.parse(reply.text).error).toMatchObject({ reason: "KEY_REVOKED" });
    }
    // Accepted submissions go on (D19).
    first.node.mine();
    await first.node.until(({ chain }) => chain.executed.length === 2);
    expect(new Set(first.node.chain.executed)).toEqual(new Set([1, 2].map((user) => hashOf(innerOf(user)))));
  });
});
