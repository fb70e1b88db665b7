// The authentication of requests (D21).
import { describe, expect, it } from "vitest";
import { API_KEY, testServices } from "../support/testService.js";
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
