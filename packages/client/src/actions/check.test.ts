import type { CheckLine, KeyPolicy } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { createWaiverClient } from "../index.js";

const HASH = `0x${"ab".repeat(32)}`;
const good: CheckLine = { index: 0, success: true, txHash: HASH };
const bad: CheckLine = {
  index: 1,
  success: false,
  error: { code: "PARSE_ERROR", message: "m", reason: "INVALID_HEX" },
};
const bodyOf = (...lines: unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

/** Creates a client whose service gives these answers in turn. Returns it with the requests that it sends. */
function clientOf(...answers: (() => Response | Promise<Response>)[]) {
  const requests: { url: string; init: RequestInit | undefined }[] = [];
  const client = createWaiverClient({
    url: "http://service",
    apiKey: "gw_test_key_secret",
    fetch: async (input, init) => {
      requests.push({ url: String(input), init });
      const answer = answers.shift();
      if (answer === undefined) throw new Error("too many requests");
      return answer();
    },
  });
  return { client, requests };
}

const unavailable = () => {
  const error = { code: "UNAVAILABLE", message: "m", reason: "CHAIN_UNAVAILABLE" };
  return new Response(JSON.stringify({ error }), { status: 503 });
};
const retry = { attempts: 2, minDelayMs: 0 };

describe("check", () => {
  it("gives the lines in the order of the transactions, and asks for a simulation only if told to", async () => {
    const { client, requests } = clientOf(
      () => new Response(bodyOf(bad, good)),
      () => new Response(bodyOf({ ...good, simulation: { success: true } })),
    );
    expect(await client.check(["0x01", "0x02"])).toEqual([good, bad]);
    expect(await client.check(["0x01"], { simulate: true })).toEqual([
      { ...good, simulation: { success: true } },
    ]);
    expect(requests.map(({ url }) => url)).toEqual([
      "http://service/v1/check",
      "http://service/v1/check?simulate=true",
    ]);
    expect(requests[0]?.init).toMatchObject({ method: "POST", body: '{"transactions":["0x01","0x02"]}' });
  });

  it("asks again while the service cannot be reached, because a check changes nothing", async () => {
    const { client, requests } = clientOf(unavailable, () => new Response(bodyOf(good)));
    expect(await client.check(["0x01"], { retry })).toEqual([good]);
    expect(requests).toHaveLength(2);
    await expect(clientOf(unavailable, unavailable).client.check(["0x01"], { retry })).rejects.toMatchObject({
      name: "RequestRefusedError",
      reason: "CHAIN_UNAVAILABLE",
    });
  });

  it.each([
    ["ends early", bodyOf(good), { name: "StreamEndedError", missing: [1] }],
    ["breaks off", bodyOf(good, bad).slice(0, -5), { name: "StreamEndedError", missing: [1] }],
    ["is not a check", bodyOf({ ...good, txHash: "0x" }), { name: "MalformedAnswerError" }],
    ["is not JSON", "<html>\n", { name: "MalformedAnswerError" }],
  ])("fails with the error for the fault when the answer %s", async (_, body, error) => {
    const { client } = clientOf(() => new Response(body));
    await expect(client.check(["0x01", "0x02"], { retry: { attempts: 1 } })).rejects.toMatchObject(error);
  });

  it("ends with the signal's own reason", async () => {
    const { client } = clientOf(() => Promise.reject(new Error("aborted")));
    const reason = new Error("enough");
    await expect(client.check(["0x01"], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe("policy", () => {
  const policy: KeyPolicy = {
    chainId: 2201,
    marker: "0x000000000000000000000000000000000000f333",
    waits: ["broadcast", "included"],
    allowedTargets: [{ address: "*" }],
    waivers: [],
    limits: {
      ratePerSecond: 1,
      rateBurst: 1,
      maxQueued: 1,
      maxBatchSize: 1,
      maxBodyBytes: 1_024,
      maxGasLimit: "21000",
      maxDataLength: 0,
    },
  };

  it("returns the policy, with the members that a newer service adds (D26)", async () => {
    const { client } = clientOf(unavailable, () => new Response(JSON.stringify({ ...policy, newer: 1 })));
    expect(await client.policy({ retry })).toMatchObject(policy);
  });

  it("fails when the answer is not a policy", async () => {
    const { client } = clientOf(() => new Response(JSON.stringify({ ...policy, limits: {} })));
    await expect(client.policy()).rejects.toMatchObject({ name: "MalformedAnswerError" });
  });
});
