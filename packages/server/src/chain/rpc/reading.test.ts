// A node may tell each method or not. A read goes on to the next node for what one does not tell, and only for that.
import { afterEach, describe, expect, it, vi } from "vitest";
import { RefusedByNode } from "../../../test/support/modelChain.js";
import { ScriptedNode } from "../../../test/support/scriptedNode.js";
import { bytes } from "../../../test/support/submissions.js";
import {
  balanceCall,
  blockCall,
  blockNumberCall,
  chainIdCall,
  fullBlockCall,
  logsCall,
  nonceCall,
  receiptCall,
  runCall,
  transactionCall,
} from "../client/calls.js";
import { createRpc, NodeRpcError, type RpcCall } from "./rpc.js";

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

async function startTwo() {
  const [first, second] = [await ScriptedNode.start(), await ScriptedNode.start()];
  nodes.push(first, second);
  const rpcUrls = [first.url, second.url];
  const rpc = createRpc({ rpcUrls, rpcTimeoutMs: 20_000, signal: new AbortController().signal });
  const counts = () => [first, second].map(({ requests }) => requests.all);
  return { rpc, first, second, counts };
}

const fails = (message: string, data?: string) => () => {
  throw new RefusedByNode(message, data && "reverted", { data });
};
const [address, hash] = [bytes(20, 1), bytes(32, 1)];
const hex = (length: number, byte: string) => `0x${byte.repeat(length)}`;
const block = { number: "0x1", hash: hex(32, "ab"), timestamp: "0x1", transactions: [] };
const receipt = {
  transactionHash: hex(32, "01"),
  blockNumber: "0x1",
  blockHash: hex(32, "ab"),
  gasUsed: "0x1",
  status: "0x1",
};

const CALLS: readonly (readonly [string, RpcCall, unknown])[] = [
  ["a nonce", nonceCall(address), "0x7"],
  ["a balance", balanceCall(address), "0x7"],
  ["a receipt", receiptCall(hash), receipt],
  ["no receipt", receiptCall(hash), null],
  ["a transaction", transactionCall(hash), { hash: hex(32, "01"), blockNumber: null }],
  ["no transaction", transactionCall(hash), null],
  ["the latest block", blockCall("latest"), block],
  ["no block", blockCall(7n), null],
  ["a whole block", fullBlockCall(1n), block],
  ["the height", blockNumberCall(), "0x7"],
  ["the chain's id", chainIdCall(), "0x7"],
  ["logs", logsCall({}), []],
  ["the bytes of a call", runCall({}, "latest"), "0x1234"],
];
const BAD: readonly (() => unknown)[] = [
  () => ({}),
  () => ({ hash: hex(32, "ee") }),
  () => "",
  () => false,
  fails("internal error"),
  fails("the method does not exist/is not available"),
  fails("transaction indexing is in progress"),
  fails("missing trie node"),
];

describe("a read", () => {
  it.each(CALLS)("goes on from a node that does not tell %s, and no further", async (_, call, told) => {
    const { rpc, first, second, counts } = await startTwo();
    first.answers[call.method] = second.answers[call.method] = () => told;
    expect(await rpc.read([call])).toEqual([{ result: told }]);
    expect(counts()).toEqual([1, 0]);
    let nowMs = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    for (const [i, bad] of BAD.entries()) {
      first.answers[call.method] = bad;
      expect(await rpc.read([call])).toEqual([{ result: told }]);
      expect(counts()).toEqual([i + 2, i + 1]);
      nowMs += 60_000;
    }
  });

  it("asks the next node only for the calls that the first does not tell", async () => {
    const { rpc, first, second } = await startTwo();
    first.answers.eth_getBalance = fails("method not found");
    second.answers.eth_getBalance = () => "0x5";
    const asked: string[] = [];
    second.script = ({ methods }) => void asked.push(...methods);
    const outcomes = await rpc.read([nonceCall(address), balanceCall(address), receiptCall(hash)]);
    expect(outcomes).toEqual([{ result: "0x0" }, { result: "0x5" }, { result: null }]);
    expect(asked).toEqual(["eth_getBalance"]);
  });

  it("has the last node's answer where no node tells, and an answer rather than silence", async () => {
    const { rpc, first, second } = await startTwo();
    first.answers.eth_getBalance = fails("the first");
    second.answers.eth_getBalance = fails("the second");
    const error = (message: string) => [
      { error: expect.toSatisfy((it) => it instanceof NodeRpcError && it.message === message) },
    ];
    expect(await rpc.read([balanceCall(address)])).toEqual(error("the second"));
    await second.close();
    expect(await rpc.read([balanceCall(address)])).toEqual(error("the first"));
  });

  it.each([
    ["reverts", fails("execution reverted")],
    ["reverts with data", fails("VM error", "0x08c379a0")],
    ["runs out of gas", fails("out of gas")],
  ])("of a call that %s has its answer", async (_, answer) => {
    const { rpc, first, counts } = await startTwo();
    first.answers.eth_call = answer;
    expect(await rpc.read([runCall({}, "latest")])).toEqual([{ error: expect.any(NodeRpcError) }]);
    expect(counts()).toEqual([1, 0]);
  });

  it("by one node has all answers from the node that tells most", async () => {
    const { rpc, first, second } = await startTwo();
    const calls = [nonceCall(address), receiptCall(hash), nonceCall(address)];
    first.answers.eth_getTransactionReceipt = fails("internal error");
    second.answers.eth_getTransactionCount = () => "0x9";
    const read = () => rpc.read(calls, { byOneNode: true });
    expect(await read()).toEqual([{ result: "0x9" }, { result: null }, { result: "0x9" }]);
    second.answers.eth_getTransactionCount = fails("internal error");
    expect(await read()).toEqual([{ result: "0x0" }, { error: expect.any(NodeRpcError) }, { result: "0x0" }]);
  });
});

describe("a node that does not tell a method for good", () => {
  it("is asked for it before the other at most every 30 s, and for other methods as before", async () => {
    let nowMs = 1_000_000;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const { rpc, first, counts } = await startTwo();
    first.answers.eth_getTransactionReceipt = fails("internal error");
    for (let i = 0; i < 1_200; i++) {
      expect(await rpc.read([receiptCall(bytes(32, i % 256))])).toEqual([{ result: null }]);
      nowMs += 100;
    }
    // It was asked after 0, 1, 3, 7, 15, 31, 61 and 91 s.
    expect(counts()).toEqual([8, 1_200]);
    await rpc.read([nonceCall(address)]);
    expect(counts()).toEqual([9, 1_200]);
  });

  it("is the first to be asked again once it tells, and asked all the same while the other is away", async () => {
    let nowMs = 1_000_000;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const { rpc, first, second, counts } = await startTwo();
    first.answers.eth_getTransactionReceipt = fails("internal error");
    const read = () => rpc.read([receiptCall(hash)]);
    await read();
    delete first.answers.eth_getTransactionReceipt;
    await second.close();
    expect(await read()).toEqual([{ result: null }]);
    await second.open();
    const before = counts();
    nowMs += 30_000;
    expect(await read()).toEqual([{ result: null }]);
    expect(counts()).toEqual([(before[0] ?? 0) + 1, before[1]]);
  });
});
