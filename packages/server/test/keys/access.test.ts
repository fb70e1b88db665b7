// Authentication, unknown paths and the rate limit: statuses and header fields of D21.
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { API_KEY, OTHER_API_KEY, outcomeOf, type Reply, testServices } from "../support/testService.js";
import { innerOf } from "../support/user.js";

const services = testServices();
const body = (...transactions: string[]) => JSON.stringify({ transactions });

describe("without a valid key", () => {
  const shared = services.shared();

  it.each([
    ["no header", undefined, "MISSING_KEY"],
    ["another scheme", `Basic ${API_KEY}`, "MISSING_KEY"],
    ["no key after Bearer", "Bearer", "MISSING_KEY"],
    ["an unknown key", "Bearer gw_test_first_secret-of-nobody", "UNKNOWN_KEY"],
    ["a key with more behind it", `Bearer ${API_KEY}x`, "UNKNOWN_KEY"],
  ])("%s: 401 with WWW-Authenticate", async (_, authorization, reason) => {
    const service = shared();
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (authorization !== undefined) headers.authorization = authorization;
    const reply = await service.call("POST", "/v1/submit", body(innerOf(1)), headers);
    expect(reply.status).toBe(401);
    expect(reply.headers["www-authenticate"]).toMatch(/^Bearer/);
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "UNAUTHORIZED", reason });
    expect(reply.text).not.toContain("secret");
    expect(await service.rows()).toEqual([]);
  });

  it("a large body is not read, and the client gets the 401", async () => {
    const service = shared();
    const reply = await service.call("POST", "/v1/submit", "x".repeat(40_000_000), {
      "content-type": "application/json",
    });
    expect(reply.status).toBe(401);
  });

  it("health answers", async () => {
    const service = shared();
    const reply = await service.call("GET", "/v1/health");
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.text)).toEqual({ status: "ok", version: "0.1.0", chainId: 2201 });
  });
});

describe("an unknown path or method", () => {
  const shared = services.shared();

  it.each(["/", "/v1", "/v1/submit/", "/v2/submit", "/v1/%zz", "/v1/submission"])("%s: 404", async (path) => {
    const service = shared();
    const reply = await service.call("GET", path);
    expect(reply.status).toBe(404);
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "NOT_FOUND", reason: "NO_SUCH_PATH" });
  });

  it("a path far longer than any route: 404, and a long id gets the 404 of its route", async () => {
    const id = "x".repeat(2_000);
    const nowhere = await shared().call("GET", `/v1/nothing/${id}`);
    expect([nowhere.status, JSON.parse(nowhere.text).error.reason]).toEqual([404, "NO_SUCH_PATH"]);
    const authorization = `Bearer ${API_KEY}`;
    const record = await shared().call("GET", `/v1/submissions/${id}`, undefined, { authorization });
    expect([record.status, JSON.parse(record.text).error.reason]).toEqual([404, "NO_SUCH_SUBMISSION"]);
  });

  it("with a body of an unknown type: 404", async () => {
    const reply = await shared().call("POST", "/v1/nothing", "{}", { "content-type": "" });
    expect([reply.status, JSON.parse(reply.text).error.reason]).toEqual([404, "NO_SUCH_PATH"]);
  });

  it.each([
    ["PUT", "/v1/submit", "POST"],
    ["DELETE", "/v1/submit?wait=included", "POST"],
    ["POST", "/v1/health", "GET"],
  ])("%s %s: 405 with Allow", async (method, path, allow) => {
    const service = shared();
    const reply = await service.call(method, path);
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toContain(allow);
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "NOT_FOUND", reason: "NO_SUCH_METHOD" });
  });
});

describe("bytes that are no HTTP request", () => {
  const shared = services.shared();

  it.each([
    ["another protocol", "SSH-2.0-client\r\n\r\n", 400, "MALFORMED_HTTP"],
    [
      "a header without end",
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`,
      431,
      "HEAD_TOO_LARGE",
    ],
    ["no Host", "GET /v1/health HTTP/1.1\r\n\r\n", 400, "MALFORMED_HTTP"],
  ])("%s: an error of the usual shape", async (_, bytes, status, reason) => {
    const { hostname, port } = new URL(shared().url);
    const socket = connect(Number(port), hostname);
    socket.write(bytes);
    let answer = "";
    for await (const chunk of socket.setEncoding("utf8")) answer += chunk;
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const { error } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")));
    expect(error).toMatchObject({ code: "INVALID_REQUEST", reason });
  });
});

describe("an unknown Expect field", () => {
  const shared = services.shared();

  it("is ignored", async () => {
    const reply = await shared().call("GET", "/v1/health", undefined, { expect: "foo" });
    expect([reply.status, JSON.parse(reply.text).status]).toEqual([200, "ok"]);
  });
});

describe("a request above the rate", () => {
  it("gets 429 with Retry-After and the RateLimit fields, and does not affect other keys", async () => {
    const service = await services.start({ ratePerSecond: 1, rateBurst: 100, maxBatchSize: 100 });
    const since = performance.now();
    // One token comes back in each second that has begun in the meantime.
    const left = (atFirst: number) => {
      const seconds = Math.ceil((performance.now() - since) / 1_000);
      return new Set(Array.from({ length: seconds + 1 }, (_, later) => atFirst + later));
    };
    const rateOf = ({ headers }: Reply) => {
      expect(headers["ratelimit-policy"]).toBe('"transactions";q=100;w=100');
      const [, r, t] = /^"transactions";r=(\d+);t=(\d+)$/.exec(String(headers.ratelimit)) ?? [];
      return { left: Number(r), whole: Number(t) };
    };
    const first = await service.post(body(innerOf(1), innerOf(2), ...Array(58).fill("0x")));
    expect(left(40)).toContain(rateOf(first).left);
    expect(left(40)).toContain(100 - rateOf(first).whole);
    const second = await service.post(body(innerOf(3), ...Array(79).fill("0x")));
    expect(second.status).toBe(429);
    expect(JSON.parse(second.text).error).toMatchObject({ code: "RATE_LIMITED", reason: "RATE_EXCEEDED" });
    expect(left(40)).toContain(rateOf(second).left);
    expect(left(40)).toContain(80 - Number(second.headers["retry-after"]));
    expect(await service.rows()).toHaveLength(2);
    const headers = { authorization: `Bearer ${OTHER_API_KEY}` };
    expect((await service.submit([innerOf(3), innerOf(4)], { headers })).map(outcomeOf)).toEqual([
      "success",
      "success",
    ]);
    expect((await service.submit([innerOf(5)])).map(outcomeOf)).toEqual(["success"]);
  });
});

describe("a full queue", () => {
  it("refuses a request whole, by the key's share or the capacity, and accepts it later", async () => {
    const service = await services.start({ queueCapacity: 4, keyQueueShare: 0.5, requestTimeoutMs: 100 });
    await service.node.close();
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["TIMEOUT/NOT_BROADCAST"]);

    const share = await service.post(body(innerOf(2), innerOf(3)));
    expect(share.status).toBe(503);
    expect(share.headers["retry-after"]).toBe("1");
    expect(JSON.parse(share.text).error).toMatchObject({ code: "QUEUE_FULL", reason: "KEY_SHARE_EXHAUSTED" });

    const other = { headers: { authorization: `Bearer ${OTHER_API_KEY}` } };
    await service.submit([innerOf(4), innerOf(5)], other);
    await service.submit([innerOf(6)]);
    const full = await service.post(body(innerOf(7)), other);
    expect(full.status).toBe(503);
    expect(full.headers["retry-after"]).toBe("1");
    expect(JSON.parse(full.text).error).toMatchObject({ code: "QUEUE_FULL", reason: "QUEUE_AT_CAPACITY" });
    expect(await service.rows()).toHaveLength(4);

    await service.node.open();
    await service.node.until(({ chain }) => chain.executed.length === 4);
    const patient = await service.again({ requestTimeoutMs: 20_000 });
    services.own(patient);
    expect((await patient.submit([innerOf(2), innerOf(3)])).map(outcomeOf)).toEqual(["success", "success"]);
  });
});
