// The WebSocket of a real service: the SDK across a restart of the service, and a client without the SDK.
import { once } from "node:events";
import { connect as connectService } from "@gas-waiver/client";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { dataFolder } from "./support/dataFolder.js";
import { proxiedChain } from "./support/proxiedChain.js";
import { startService, startServiceProcess } from "./support/service.js";
import { API_KEY, account, tokensOf, transferOf } from "./support/user.js";

const SEND_METHOD = "eth_sendRawTransaction";

const started = proxiedChain();

describe.each([
  { how: "killed", signal: "SIGKILL", user: 0 },
  { how: "shut down", signal: "SIGTERM", user: 1 },
] as const)("a service that is $how while a client waits, and starts again", ({ signal, user }) => {
  it("gives every line to the same iteration, and executes each transaction once", async () => {
    const { proxy, chain } = started();
    const dataDir = await dataFolder();
    const sender = account(user);
    const recipient = account(7).address;
    const before = await tokensOf(chain, recipient);
    const batch = await Promise.all(
      [0, 1, 2].map((nonce) => sender.signTransaction(transferOf(recipient, 5n, nonce))),
    );
    proxy.decide = (call) => (call.includes(SEND_METHOD) ? "dropRequest" : "pass");
    const start = signal === "SIGKILL" ? startServiceProcess : startService;
    const first = start({ rpcUrl: proxy.url, dataDir });
    const { url } = await first.ready();
    const client = connectService({ url, apiKey: API_KEY, WebSocket });
    const lines = (async () => {
      const all = [];
      for await (const line of client.submit(batch, { wait: "included" })) all.push(line);
      return all;
    })();
    await proxy.dropped();
    await first.end(signal);
    proxy.decide = () => "pass";
    const second = startService({ rpcUrl: proxy.url, dataDir, port: new URL(url).port });
    await second.ready();
    expect((await lines).map(({ index, success }) => `${index} ${success}`).sort()).toEqual([
      "0 true",
      "1 true",
      "2 true",
    ]);
    expect(await tokensOf(chain, recipient)).toBe(before + 15n);
    expect(await chain.getTransactionCount(sender.address)).toBe(3);
    const [line] = await lines;
    const watched = [];
    const names = line?.success ? [line.id, line.txHash] : [];
    for await (const { id, success } of client.watch(names, { wait: "included" }))
      watched.push({ id, success });
    expect(watched).toEqual(names.map(() => ({ id: line?.id, success: true })));
    client.close();
    expect(await second.end()).toEqual({ status: 0, signal: null });
  });
});

describe("a WebSocket client without the SDK", () => {
  it("submits, watches, and receives close code 1012 at the end of the service", async () => {
    const { proxy, chain } = started();
    proxy.decide = () => "pass";
    const service = startService({ rpcUrl: proxy.url, dataDir: await dataFolder() });
    const { url } = await service.ready();
    const socket = new WebSocket(`${url.replace("http", "ws")}/v1/submit`, {
      headers: { Authorization: `Bearer ${API_KEY}` },
    });
    const frames: Record<string, unknown>[] = [];
    const done = (name: string) =>
      new Promise<void>((resolve) => {
        socket.on("message", () => {
          if (frames.some(({ request, done: last }) => request === name && last)) resolve();
        });
      });
    socket.on("message", (data) => frames.push(JSON.parse(String(data))));
    await once(socket, "open");
    const tx = await account(2).signTransaction(transferOf(account(7).address, 5n, 0));
    socket.send(JSON.stringify({ id: "mine", transactions: [tx], wait: "included" }));
    await done("mine");
    expect(frames[0]).toMatchObject({ request: "mine", index: 0, success: true });
    const { id, txHash } = frames.splice(0)[0] ?? {};
    expect(await chain.getTransactionReceipt(String(txHash))).toMatchObject({ status: 1 });
    socket.send(JSON.stringify({ id: "again", watch: [id], wait: "included" }));
    await done("again");
    expect(frames).toEqual([
      { request: "again", index: 0, id, success: true, txHash },
      { request: "again", done: true },
    ]);
    const closed = once(socket, "close");
    expect(await service.end()).toEqual({ status: 0, signal: null });
    expect((await closed)[0]).toBe(1012);
  });
});
