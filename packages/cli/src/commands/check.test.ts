import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { run } from "../run.js";

const HASH = `0x${"1".repeat(64)}`;
const LIMITS = {
  ...{ ratePerSecond: 1, rateBurst: 2, maxQueued: 1, maxBatchSize: 2, maxBodyBytes: 1_000 },
  ...{ maxGasLimit: "1", maxDataLength: 1 },
};
const POLICY = { chainId: 1, marker: "0x", waits: [], allowedTargets: [], waivers: [], limits: LIMITS };

/** Starts a service that answers one request for a check, of two transactions, and is gone. @returns its address. */
async function serviceOfOneCheck(): Promise<string> {
  const server = createServer(({ method }, response) => {
    response.setHeader("connection", "close");
    if (method === "GET") {
      response.setHeader("content-type", "application/json").end(JSON.stringify(POLICY));
      return;
    }
    const error = { code: "PARSE_ERROR", reason: "NOT_A_TRANSACTION", message: "no" };
    const lines = [
      { index: 0, success: true, txHash: HASH },
      { index: 1, success: false, error },
    ];
    response.setHeader("content-type", "application/x-ndjson");
    response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a check of several requests", () => {
  it.each([
    ["as a table", []],
    ["as JSON", ["--json"]],
  ])("prints the answers that it has when the service goes away, %s", async (_, flags) => {
    const url = await serviceOfOneCheck();
    // The client pauses between its attempts.
    vi.useFakeTimers({ toFake: ["setTimeout"] }).setTimerTickMode("nextTimerAsync");
    const printed: string[] = [];
    const status = await run(["check", "--url", url, ...flags, "0x01", "0x02", "0x03"], {
      env: { GAS_WAIVER_API_KEY: "gw_dev_local" },
      signal: new AbortController().signal,
      print: (line) => printed.push(line),
      printError: (line) => printed.push(line),
      write: async () => {},
    });
    expect(status).toBe(1);
    expect(printed.pop()).toContain(`gas-waiver: the service at ${url} cannot be reached`);
    if (flags.length === 0)
      expect(printed.pop()).toBe("1 of 2 transaction(s) would be taken; not checked: 1");
    else
      expect(printed.map((line) => JSON.parse(line))).toMatchObject([
        { index: 0, success: true },
        { index: 1, success: false },
      ]);
  });
});
