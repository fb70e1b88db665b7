// Options that change while a service runs.
import type { ReloadableOptions } from "@gas-waiver/server";
import { describe, expect, it } from "vitest";
import { beginRequest } from "../support/beginRequest.js";
import { API_KEY, OTHER_API_KEY, optionsFor, outcomeOf, testServices } from "../support/testService.js";
import { TestSocket } from "../support/testSocket.js";
import { APPROVE, innerOf, TOKEN, TRANSFER } from "../support/user.js";

const services = testServices();
const ADMIN = { name: "first", token: "admin-token-of-the-reload-91c4e07b2d8046aa" };
const NEW_KEY = "gw_test_third_secret-of-the-third-key";

describe("a running service that gets other options", () => {
  it("uses other limits, keys, tokens, targets and origins at once, and ends the connections of keys that are gone", async () => {
    const service = await services.start({ adminTokens: [ADMIN] });
    const { server } = service;
    const { url } = await server.listenAdmin({ host: "127.0.0.1", port: 0 });
    const reload = (changes: ReloadableOptions) =>
      server.setOptions({ ...optionsFor("", ""), adminTokens: [ADMIN], ...changes });
    const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    const asAdmin = async (token: string) =>
      (await fetch(`${url}/admin/v1/keys`, { headers: { authorization: `Bearer ${token}` } })).status;
    const statusOf = async (key: string, ...transactions: string[]) =>
      (await service.post(JSON.stringify({ transactions }), withKey(key))).status;
    const socket = await TestSocket.open(service, OTHER_API_KEY);
    const bearer = { authorization: `Bearer ${ADMIN.token}` };
    const begun = await beginRequest(`${url}/admin/v1/keys`, bearer, () => asAdmin(ADMIN.token));

    await reload({
      apiKeys: [API_KEY, NEW_KEY],
      adminTokens: [{ ...ADMIN, token: `${ADMIN.token}-2` }],
      maxBatchSize: 2,
      allowedTargets: [{ address: TOKEN, selectors: [TRANSFER] }],
      corsOrigins: ["https://app.example.com"],
    });
    expect(await socket.closed).toBe(1008);
    expect(await statusOf(OTHER_API_KEY, innerOf(1))).toBe(401);
    expect(await statusOf(NEW_KEY, innerOf(1))).toBe(200);
    expect(await statusOf(API_KEY, "0x", "0x", "0x")).toBe(413);
    expect([await asAdmin(ADMIN.token), await asAdmin(`${ADMIN.token}-2`)]).toEqual([401, 200]);
    expect(await begun(JSON.stringify({ label: "too late" }))).toMatchObject({ status: 401 });
    const approval = innerOf(2, 0, { data: Uint8Array.of(...APPROVE, ...new Uint8Array(64)) });
    expect((await service.submit([approval])).map(outcomeOf)).toEqual([
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
    ]);
    const { headers } = await service.call("GET", "/v1/health", undefined, {
      origin: "https://app.example.com",
    });
    expect(headers["access-control-allow-origin"]).toBe("https://app.example.com");
    const read = await service.query("select from audit where action = 'read-secrets'");
    expect(read).toHaveLength(2);
  });

  it("changes nothing if one of them is wrong, and gives those that are absent their defaults", async () => {
    const service = await services.start({ maxBatchSize: 1 });
    const status = async () => (await service.post(JSON.stringify({ transactions: ["0x", "0x"] }))).status;
    const given = { ...optionsFor("", ""), maxBatchSize: 2 };
    await expect(service.server.setOptions({ ...given, queueCapacity: 0 })).rejects.toThrow(/queueCapacity/);
    expect(await status()).toBe(413);
    await service.server.setOptions(given);
    expect(await status()).toBe(200);
    const { maxBatchSize: _, ...others } = given;
    await service.server.setOptions(others);
    expect((await service.post(JSON.stringify({ transactions: Array(100).fill("0x") }))).status).toBe(200);
  });
});
