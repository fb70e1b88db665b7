// Clients of the gateway that ask for more than their share: the others are served, and in the meantime.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { deferred } from "../support/deferred.js";
import { GatewayClient } from "../support/gatewayClient.js";
import { testServices } from "../support/testService.js";
import { hashOf, innerOf, TOKEN, userAddress } from "../support/user.js";

const services = testServices();
const KEYS = Array.from({ length: 20 }, (_, i) => `gwp_test_page${i}`);
const [FIRST = ""] = KEYS;
/** Requests name their addresses, as if a proxy had. */
const options = { publicApiKeys: KEYS, trustedProxies: ["127.0.0.1"] };

/** Posts a call, as from the address. @returns its result. */
async function callFrom(
  address: string,
  url: string,
  method: string,
  ...params: unknown[]
): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const { json } = await new GatewayClient(url, FIRST).post(body, { "x-forwarded-for": address });
  return (json as { readonly result?: unknown }).result;
}

describe("pages behind one address", () => {
  it("take 16 places at the node together, while it hangs on their calls, and another address sends", async () => {
    const service = await services.start(options);
    const { node, url } = service;
    const release = deferred<void>();
    node.script = ({ methods }) =>
      methods.includes("eth_getProof") ? { kind: "later", after: release.promise } : undefined;
    let atNode = 0;
    node.answers.eth_getProof = () => ({});
    const hanging = node.until(() => atNode === 16);
    const script = node.script;
    node.script = (arrival) => {
      if (arrival.methods.includes("eth_getProof")) atNode++;
      return script(arrival);
    };
    let answered = 0;
    const flood = KEYS.flatMap((key, k) =>
      Array.from({ length: 10 }, async (_, i) => {
        const call = {
          jsonrpc: "2.0",
          id: 1,
          method: "eth_getProof",
          params: [userAddress(k), [], `0x${i + 1}`],
        };
        await new GatewayClient(url, key).post(JSON.stringify(call), { "x-forwarded-for": "192.0.2.1" });
        answered++;
      }),
    );
    await hanging;
    node.answers.eth_estimateGas = () => "0x186a0";
    const sender = userAddress(1);
    const call = (method: string, ...params: unknown[]) => callFrom("192.0.2.2", url, method, ...params);
    expect(await call("eth_getTransactionCount", sender, "pending")).toBe("0x0");
    expect(await call("eth_estimateGas", { from: sender, to: bytesToHex(TOKEN) })).toBe("0x186a0");
    expect(await call("eth_sendRawTransaction", innerOf(1))).toBe(hashOf(innerOf(1)));
    expect(await call("eth_getTransactionReceipt", hashOf(innerOf(1)))).toMatchObject({ status: "0x1" });
    expect([atNode, answered]).toEqual([16, 0]);
    release.resolve();
    await Promise.all(flood);
    expect(atNode).toBe(200);
  });
});

describe("an address that floods", () => {
  it("leaves half of the burst of its key to an address that comes later", async () => {
    const rates = { gatewayAddressRatePerSecond: 1_000, gatewayRatePerSecond: 10 };
    const { url } = await services.start({ ...options, ...rates });
    const client = new GatewayClient(url, FIRST);
    const statusOf = async (address: string, calls: number) => {
      const batch = Array(calls).fill({ jsonrpc: "2.0", id: 1, method: "eth_chainId" });
      return (await client.post(JSON.stringify(batch), { "x-forwarded-for": address })).status;
    };
    while ((await statusOf("192.0.2.1", 5)) === 200);
    expect(await statusOf("192.0.2.2", 10)).toBe(200);
  });
});

describe("answers that a node sends slowly", () => {
  it("count while they come: an address has no more of them at once than the memory that it may hold", async () => {
    const { node, url } = await services.start(options);
    node.script = ({ methods }) =>
      methods.includes("eth_getStorageAt") ? { kind: "beginning", bytes: 1_048_576 } : undefined;
    const stop = new AbortController();
    const ask = async (slot: number) => {
      const response = await fetch(`${url}/rpc/${FIRST}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-forwarded-for": "192.0.2.1" },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "eth_getStorageAt",
          params: [userAddress(1), `0x${slot.toString(16)}`, "latest"],
        }),
        signal: stop.signal,
      });
      return await response.text();
    };
    const answers = Array.from({ length: 16 }, (_, slot) => ask(slot));
    for (const answer of answers) answer.catch(() => {});
    expect(await Promise.race(answers)).toContain("this address holds nearly");
    // The node is well, and has room for others.
    expect(await callFrom("192.0.2.2", url, "eth_getTransactionCount", userAddress(1), "pending")).toBe(
      "0x0",
    );
    stop.abort();
  });
});

describe("a client that does not read its answers", () => {
  const LARGE = `0x${"00".repeat(4_500_000)}`;
  const call = (id: number) =>
    JSON.stringify({ jsonrpc: "2.0", id, method: "eth_call", params: [{ to: userAddress(1) }, "latest"] });

  it("gets no further large one over HTTP, until the first has left", async () => {
    const { node, url } = await services.start(options);
    node.answers.eth_call = () => LARGE;
    const { port } = new URL(url);
    const unread = request({
      port,
      method: "POST",
      path: `/rpc/${FIRST}`,
      headers: { "content-type": "application/json" },
    });
    unread.end(call(1));
    const [answer] = await once(unread, "response");
    const client = new GatewayClient(url, FIRST);
    const { json } = await client.post(call(2));
    expect(json).toMatchObject({ error: { message: expect.stringContaining("this address holds") } });
    node.answers.eth_call = () => "0x01";
    expect(await client.call("eth_call", { to: userAddress(2) }, "latest")).toBe("0x01");
    answer.destroy();
  });

  it("gives up its place to an address that needs little, when they hold all memory of publishable keys", async () => {
    const limits = { maxBodyBytes: 1_048_576, maxHeldBytes: 36_400_000 };
    const { node, url } = await services.start({ ...options, ...limits });
    node.answers.eth_call = () => LARGE;
    const { port } = new URL(url);
    const unread = await Promise.all(
      ["192.0.2.1", "192.0.2.2"].map(async (address, id) => {
        const headers = { "content-type": "application/json", "x-forwarded-for": address };
        const sent = request({ port, method: "POST", path: `/rpc/${FIRST}`, headers, agent: false });
        sent.end(call(id));
        const [answer] = (await once(sent, "response")) as [IncomingMessage];
        return answer.on("error", () => {});
      }),
    );
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId" }).padEnd(240_000);
    const client = new GatewayClient(url, FIRST);
    expect((await client.post(body, { "x-forwarded-for": "192.0.2.3" })).status).toBe(200);
    for (const answer of unread) answer.destroy();
  });

  it("gets no further large one over a WebSocket", async () => {
    const { node, url } = await services.start(options);
    node.answers.eth_call = () => LARGE;
    const socket = new WebSocket(`${url.replace("http", "ws")}/rpc/${FIRST}`);
    await once(socket, "open");
    const answers: string[] = [];
    socket.on("message", (data) => answers.push(String(data)));
    for (let id = 1; id <= 3; id++) socket.send(call(id));
    while (answers.length < 3) await once(socket, "message");
    socket.terminate();
    expect(answers.filter((answer) => answer.includes("this address holds"))).not.toEqual([]);
    expect(answers.filter((answer) => answer.length > LARGE.length)).not.toEqual([]);
  });
});

describe("a client that leaves", () => {
  it("ends no call that another one has joined", async () => {
    const service = await services.start(options);
    const { node, url } = service;
    const release = deferred<void>();
    let asked = 0;
    node.answers.eth_getStorageAt = () => "0x7";
    node.script = ({ methods }) => {
      if (!methods.includes("eth_getStorageAt")) return undefined;
      asked++;
      return { kind: "later", after: release.promise };
    };
    const params = [userAddress(1), "0x0", "latest"];
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getStorageAt", params });
    const leaving = new AbortController();
    const first = fetch(`${url}/rpc/${FIRST}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: leaving.signal,
    });
    await node.until(() => asked === 1);
    const second = callFrom("192.0.2.2", url, "eth_getStorageAt", ...params);
    leaving.abort();
    await expect(first).rejects.toThrow();
    // A call that comes after the second one shows that the second has been read.
    expect(await callFrom("192.0.2.2", url, "eth_chainId")).toBe("0x899");
    release.resolve();
    expect(await second).toBe("0x7");
    expect(asked).toBe(1);
  });
});

describe("a publishable key", () => {
  it("is in no label of a metric, whatever is asked with it", async () => {
    const service = await services.start({ ...options, gatewayAddressRatePerSecond: 1 });
    const { url: metricsUrl } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    const bodies = [
      "{",
      "[]",
      JSON.stringify(Array(50).fill({ jsonrpc: "2.0", id: 1, method: "eth_chainId" })),
    ];
    for (const key of [FIRST, `${FIRST}0`])
      for (const body of [...bodies, ...bodies]) await new GatewayClient(service.url, key).post(body);
    const raw: Hex = innerOf(1);
    await callFrom("192.0.2.9", service.url, "eth_sendRawTransaction", raw);
    const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
    expect(metrics).toContain('reason="RATE_EXCEEDED"');
    expect(metrics).not.toContain("gwp_");
  });
});
