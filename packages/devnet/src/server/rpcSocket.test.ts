import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { bytesToHex } from "@gas-waiver/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { addressOf, hashOf, signInner, transferData, wrap } from "../../test/support/testNode.js";
import { TestSocket } from "../../test/support/testSocket.js";
import { useListeningDevnet } from "../../test/support/useTestNode.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";
import { MAX_UNREAD_BYTES, RpcSocket, TRY_AGAIN_LATER } from "./rpcSocket.js";

const node = useListeningDevnet();
let client: TestSocket;
beforeEach(async () => {
  client = await TestSocket.open(node.url);
});

describe("JSON-RPC over a WebSocket", () => {
  it("answers requests and batches, in their order", async () => {
    client.socket.send('[{"jsonrpc":"2.0","id":"a","method":"eth_chainId"},{"id":"b","method":"eth_nope"}]');
    client.socket.send('{"jsonrpc":"2.0","id":"c","method":"eth_blockNumber"}');
    expect(await client.next()).toMatchObject([
      { id: "a", result: "0x899" },
      { id: "b", error: { code: -32601 } },
    ]);
    expect(await client.next()).toMatchObject({ id: "c", result: "0x0" });
  });

  it("answers malformed requests with an error and stays open", async () => {
    for (const text of ["{nope", "", "7", "[]", "{}", "null"]) {
      client.socket.send(text);
      expect(await client.next()).toMatchObject({ id: null, error: { code: expect.any(Number) } });
    }
    client.socket.send(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'), { binary: true });
    expect(await client.next()).toMatchObject({
      id: null,
      error: { code: -32600, message: expect.stringContaining("binary") },
    });
    expect(await client.rpc("eth_chainId")).toBe("0x899");
  });

  it("closes a connection that sends text which is not UTF-8, or a message above the limit", async () => {
    const closed = client.closed();
    client.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect(await closed).toMatchObject({ code: 1007 });

    const other = await TestSocket.open(node.url);
    const tooBig = other.closed();
    other.socket.on("error", () => {});
    other.socket.send("x".repeat(64 * 1024 * 1024 + 1));
    expect(await tooBig).toMatchObject({ code: expect.toSatisfy((code) => code === 1009 || code === 1006) });
    expect((await TestSocket.open(node.url)).socket.readyState).toBe(1);
  });

  it("answers with an error if the node fails, and goes on", async () => {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    const answer = () => Promise.reject(new Error("no room"));
    server.on("connection", (socket) => new RpcSocket(socket, { answer }));
    await once(server, "listening");
    const other = await TestSocket.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    for (let i = 0; i < 2; i++) {
      other.socket.send("{}");
      expect(await other.next()).toMatchObject({
        id: null,
        error: { code: -32603, message: "internal error: no room" },
      });
    }
    other.socket.terminate();
    server.close();
  });

  it("is closed with the devnet", async () => {
    const closed = client.closed();
    await node.devnet.close();
    expect(await closed).toMatchObject({ code: expect.toSatisfy((code) => code === 1001 || code === 1006) });
  });
});

describe("subscriptions", () => {
  it("report new heads in order, after the response to the request that made them", async () => {
    const id = await client.rpc("eth_subscribe", "newHeads");
    const order: string[] = [];
    client.socket.on("message", (data) =>
      order.push("id" in JSON.parse(data.toString()) ? "answer" : "head"),
    );
    await client.rpc("evm_mine", { blocks: 2 });
    expect(await client.next()).toMatchObject({
      method: "eth_subscription",
      params: { subscription: id, result: { number: "0x1", logsBloom: expect.any(String) } },
    });
    const block = (await node.devnet.request({
      method: "eth_getBlockByNumber",
      params: ["0x2", false],
    })) as object;
    const head = (await client.notification()) as object;
    expect(block).toMatchObject(head);
    expect(order).toEqual(["answer", "head", "head"]);
  });

  it("report matching logs, under the inner's hash", async () => {
    await client.rpc("eth_subscribe", "logs", {
      address: TEST_TOKEN_ADDRESS,
      topics: [null, null, `0x${addressOf(7).slice(2).padStart(64, "0")}`],
    });
    const inners = [9, 7].map((to, user) => signInner(user, { data: transferData(addressOf(to), 1n) }));
    for (const [i, inner] of inners.entries()) {
      await client.rpc("eth_sendRawTransaction", wrap(inner, { nonce: BigInt(i) }));
    }
    const wanted = inners[1]?.raw ?? new Uint8Array();
    expect(await client.notification()).toMatchObject({
      transactionHash: hashOf(bytesToHex(wanted)),
      removed: false,
      blockNumber: "0x2",
    });
    expect(client.unread).toBe(0);
  });

  it("report the logs of removed blocks as removed", async () => {
    const snapshot = await client.rpc("evm_snapshot");
    await client.rpc("eth_subscribe", "logs", {});
    await client.rpc("eth_sendRawTransaction", wrap(signInner(0)));
    const log = (await client.notification()) as object;
    await client.rpc("evm_revert", snapshot);
    expect(await client.notification()).toEqual({ ...log, removed: true });
  });

  it("report waiting transactions: the wrapper's hash, then the inner's, or both in full", async () => {
    await client.rpc("evm_setAutomine", false);
    await client.rpc("eth_subscribe", "newPendingTransactions");
    const inner = signInner(0);
    await client.rpc("eth_sendRawTransaction", wrap(inner));
    expect(await client.notification()).toBe(hashOf(wrap(inner)));
    expect(await client.notification()).toBe(hashOf(bytesToHex(inner.raw)));
    const other = await TestSocket.open(node.url);
    await other.rpc("eth_subscribe", "newPendingTransactions", true);
    await client.rpc("eth_sendRawTransaction", wrap(signInner(1), { nonce: 1n }));
    expect(await other.notification()).toMatchObject({ from: addressOf(10), blockHash: null });
    expect(await other.notification()).toMatchObject({ from: addressOf(1), gasPrice: "0x0" });
  });

  it("end with eth_unsubscribe, on their own connection only", async () => {
    const id = await client.rpc("eth_subscribe", "newHeads");
    const other = await TestSocket.open(node.url);
    await expect(other.rpc("eth_unsubscribe", id)).rejects.toMatchObject({ code: -32000 });
    expect(await client.rpc("eth_unsubscribe", id)).toBe(true);
    await expect(client.rpc("eth_unsubscribe", id)).rejects.toMatchObject({
      message: expect.stringContaining("subscription not found"),
    });
    await client.rpc("evm_mine");
    expect(client.unread).toBe(0);
  });

  it("are refused without a WebSocket, and with invalid parameters", async () => {
    await expect(node.devnet.request({ method: "eth_subscribe", params: ["newHeads"] })).rejects.toThrow(
      "notifications not supported",
    );
    await expect(client.rpc("eth_subscribe", "weather")).rejects.toMatchObject({ code: -32602 });
    await expect(client.rpc("eth_subscribe", "logs", { topics: 1 })).rejects.toMatchObject({ code: -32602 });
  });

  it("are bounded: a client that does not read is disconnected, and others are served", async () => {
    const subscriptions = 40;
    for (let i = 0; i < subscriptions; i++) await client.rpc("eth_subscribe", "newPendingTransactions", true);
    client.socket.pause();
    await node.devnet.request({ method: "evm_setAutomine", params: [false] });
    // Each wrapper of a large inner gives each subscription two notifications: 58 MB in all. The kernel buffers some.
    const data = new Uint8Array(30_000);
    data.set([0xa9, 0x05, 0x9c, 0xbb]);
    for (let nonce = 0n; nonce < 12n; nonce++) {
      const inner = signInner(0, { nonce, data, gasLimit: 2_000_000n });
      await node.devnet.request({ method: "eth_sendRawTransaction", params: [wrap(inner, { nonce })] });
    }
    const closed = client.closed();
    client.socket.resume();
    expect(await closed).toEqual({
      code: TRY_AGAIN_LATER,
      reason: `more than ${MAX_UNREAD_BYTES} bytes wait to be read`,
    });
    const next = await TestSocket.open(node.url);
    expect(await next.rpc("eth_chainId")).toBe("0x899");
  });
});
