import { describe, expect, it } from "vitest";
import { replyToBytes } from "../support/rawReply.js";
import { API_KEY, OTHER_API_KEY, testServices } from "../support/testService.js";
import { upgradeRequest } from "../support/upgradeRequest.js";
import { innerOf } from "../support/user.js";

const services = testServices();
const body = (...transactions: string[]) => JSON.stringify({ transactions });

describe("a request without a valid API key", () => {
  const shared = services.shared();

  it.each([
    ["no header", undefined, "MISSING_KEY"],
    ["another scheme", `Basic ${API_KEY}`, "MISSING_KEY"],
    ["no key after Bearer", "Bearer", "MISSING_KEY"],
    ["an unknown key", "Bearer gw_test_first_secret-of-nobody", "UNKNOWN_KEY"],
    ["a key followed by another letter", `Bearer ${API_KEY}x`, "UNKNOWN_KEY"],
  ])("gets 401 with WWW-Authenticate for %s", async (_, authorization, reason) => {
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

  it("gets 401 before a large body is read", async () => {
    const service = shared();
    const reply = await service.call("POST", "/v1/submit", "x".repeat(40_000_000), {
      "content-type": "application/json",
    });
    expect(reply.status).toBe(401);
  });

  it("gets the health of the service", async () => {
    const service = shared();
    const reply = await service.call("GET", "/v1/health");
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.text)).toEqual({ status: "ok", version: "0.1.0", chainId: 2201 });
  });
});

describe("an address that guesses keys", () => {
  it("gets 429 with Retry-After, over HTTP and for a WebSocket, while a key that it has used goes on", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)]);
    const guess = (path: string) =>
      service.call("GET", path, undefined, { authorization: "Bearer gw_test_guess_of-a-secret-key" });
    let reply = await guess("/v1/ready");
    for (let i = 0; reply.status === 401 && i < 100; i++) reply = await guess("/v1/ready");
    expect(reply.status).toBe(429);
    expect(Number(reply.headers["retry-after"])).toBeGreaterThan(0);
    expect(JSON.parse(reply.text).error).toMatchObject({
      code: "RATE_LIMITED",
      reason: "TOO_MANY_UNKNOWN_KEYS",
      details: { retry: "later", retryAfterSeconds: Number(reply.headers["retry-after"]) },
    });
    expect(await service.submit([innerOf(2)])).toMatchObject([{ success: true }]);
    const handshake = upgradeRequest(OTHER_API_KEY).join("\r\n");
    expect((await replyToBytes(service, `${handshake}\r\n\r\n`)).status).toBe(429);
  });
});
