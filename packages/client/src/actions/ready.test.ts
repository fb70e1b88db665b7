import type { Readiness } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { createWaiverClient } from "../index.js";

const clientOf = (status: number, body: unknown) =>
  createWaiverClient({
    url: "http://service",
    apiKey: "gw_test_key_secret",
    fetch: async () => new Response(JSON.stringify(body), { status }),
  });

const waivers = { ok: false, usable: 0, message: "no waiver takes work" };
const body: Readiness = { ready: false, parts: { store: { ok: true }, chain: { ok: true }, waivers } };

describe("ready", () => {
  it("returns the readiness, also when the service is not ready", async () => {
    expect(await clientOf(503, body).ready()).toEqual(body);
    expect(await clientOf(200, { ...body, ready: true }).ready()).toMatchObject({ ready: true });
  });

  it("throws for any other refusal, and for an answer that is not a readiness", async () => {
    const error = { code: "UNAUTHORIZED", message: "m", reason: "UNKNOWN_KEY" };
    await expect(clientOf(401, { error }).ready()).rejects.toMatchObject({ status: 401 });
    await expect(clientOf(503, "away").ready()).rejects.toMatchObject({ name: "MalformedAnswerError" });
  });
});
