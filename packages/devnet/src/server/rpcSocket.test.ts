import { bytesToHex } from "@gas-waiver/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createDevnet, type Devnet } from "../createDevnet.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";
import { addressOf, hashOf, signInner, transferData, wrap } from "../testing/node.js";
import { TestSocket } from "../testing/socket.js";
import { MAX_UNREAD_BYTES, TRY_AGAIN_LATER } from "./rpcSocket.js";

let devnet: Devnet;
let url: string;
let client: TestSocket;
beforeEach(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  ({ url } = await devnet.listen({ port: 0 }));
  client = await TestSocket.open(url);
});
afterEach(() => devnet.close());

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

  it("answers what is no request with an error and stays open", async () => {
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

  it("closes a connection that sends text which is not UTF-8, or more than a message may have", async () => {
    const closed = client.closed();
    client.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect(await closed).toMatchObject({ code: 1007 });

    const other = await TestSocket.open(url);
    const tooBig = other.closed();
    other.socket.on("error", () => {});
    other.socket.send("x".repeat(64 * 1024 * 1024 + 1));
    expect(await tooBig).toMatchObject({ code: expect.toSatisfy((code) => code === 1009 || code === 1006) });
    expect((await TestSocket.open(url)).socket.readyState).toBe(1);
  });

  it("ends with the devnet", async () => {
    const closed = client.closed();
    await devnet.close();
    expect(await closed).toMatchObject({ code: expect.toSatisfy((code) => code === 1001 || code === 1006) });
  });
});

describe("subscriptions", () => {
  it("tell of new heads, in order, after the answer to what made them", async () => {
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
    const block = (await devnet.request({
      method: "eth_getBlockByNumber",
      params: ["0x2", false],
    })) as object;
    const head = (await client.told()) as object;
    expect(block).toMatchObject(head);
    expect(order).toEqual(["answer", "head", "head"]);
  });

  it("tell of the logs that match, under the inner's hash", async () => {
    await client.rpc("eth_subscribe", "logs", {
      address: TEST_TOKEN_ADDRESS,
      topics: [null, null, `0x${addressOf(7).slice(2).padStart(64, "0")}`],
    });
    const inners = [9, 7].map((to, user) => signInner(user, { data: transferData(addressOf(to), 1n) }));
    for (const [i, inner] of inners.entries()) {
      await client.rpc("eth_sendRawTransaction", wrap(inner, { nonce: BigInt(i) }));
    }
    const wanted = inners[1]?.raw ?? new Uint8Array();
    expect(await client.told()).toMatchObject({
      transactionHash: hashOf(bytesToHex(wanted)),
      removed: false,
      blockNumber: "0x2",
    });
    expect(client.untold).toBe(0);
  });

  it("tell of logs that are taken back with their block", async () => {
    const snapshot = await client.rpc("evm_snapshot");
    await client.rpc("eth_subscribe", "logs", {});
    await client.rpc("eth_sendRawTransaction", wrap(signInner(0)));
    const log = (await client.told()) as object;
    await client.rpc("evm_revert", snapshot);
    expect(await client.told()).toEqual({ ...log, removed: true });
  });

  it("tell of transactions that wait: the wrapper's hash, then the inner's, or both in full", async () => {
    await client.rpc("evm_setAutomine", false);
    await client.rpc("eth_subscribe", "newPendingTransactions");
    const inner = signInner(0);
    await client.rpc("eth_sendRawTransaction", wrap(inner));
    expect(await client.told()).toBe(hashOf(wrap(inner)));
    expect(await client.told()).toBe(hashOf(bytesToHex(inner.raw)));
    const other = await TestSocket.open(url);
    await other.rpc("eth_subscribe", "newPendingTransactions", true);
    await client.rpc("eth_sendRawTransaction", wrap(signInner(1), { nonce: 1n }));
    expect(await other.told()).toMatchObject({ from: addressOf(10), blockHash: null });
    expect(await other.told()).toMatchObject({ from: addressOf(1), gasPrice: "0x0" });
  });

  it("end when asked to, and belong to their connection", async () => {
    const id = await client.rpc("eth_subscribe", "newHeads");
    const other = await TestSocket.open(url);
    await expect(other.rpc("eth_unsubscribe", id)).rejects.toMatchObject({ code: -32000 });
    expect(await client.rpc("eth_unsubscribe", id)).toBe(true);
    await expect(client.rpc("eth_unsubscribe", id)).rejects.toMatchObject({
      message: expect.stringContaining("subscription not found"),
    });
    await client.rpc("evm_mine");
    expect(client.untold).toBe(0);
  });

  it("are refused where nothing can be told, and when they make no sense", async () => {
    await expect(devnet.request({ method: "eth_subscribe", params: ["newHeads"] })).rejects.toThrow(
      "notifications not supported",
    );
    await expect(client.rpc("eth_subscribe", "weather")).rejects.toMatchObject({ code: -32602 });
    await expect(client.rpc("eth_subscribe", "logs", { topics: 1 })).rejects.toMatchObject({ code: -32602 });
  });

  it("of a client that does not read are bounded: it is closed, and others are served on", async () => {
    const subscriptions = 40;
    for (let i = 0; i < subscriptions; i++) await client.rpc("eth_subscribe", "newPendingTransactions", true);
    client.socket.pause();
    await devnet.request({ method: "evm_setAutomine", params: [false] });
    // Each wrapper of a large inner is told twice to each subscription: 20 MB in all, and the kernel takes some.
    const data = new Uint8Array(30_000);
    data.set([0xa9, 0x05, 0x9c, 0xbb]);
    for (let nonce = 0n; nonce < 12n; nonce++) {
      const inner = signInner(0, { nonce, data, gasLimit: 2_000_000n });
      await devnet.request({ method: "eth_sendRawTransaction", params: [wrap(inner, { nonce })] });
    }
    const closed = client.closed();
    client.socket.resume();
    expect(await closed).toEqual({
      code: TRY_AGAIN_LATER,
      reason: `more than ${MAX_UNREAD_BYTES} bytes wait to be read`,
    });
    const fine = await TestSocket.open(url);
    expect(await fine.rpc("eth_chainId")).toBe("0x899");
  });
});
