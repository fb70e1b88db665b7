import { bytesToHex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import { NodeRpcError, type RpcCall, type RpcOutcome, RpcUnavailableError } from "../rpc/rpc.js";
import { createSnapshotReader } from "./snapshot.js";

const waiver = bytes(20, 1);
const [included, missing, pending] = [bytes(32, 1), bytes(32, 2), bytes(32, 3)];
const blockHash = bytes(32, 9);
const receipt = { blockNumber: 5n, blockHash, gasUsed: 21_000n, succeeded: true };

const RECEIPTS = "eth_getTransactionReceipt";
const LOOKUPS = "eth_getTransactionByHash";
const indexing: RpcOutcome = { error: new NodeRpcError(-32_000, "transaction indexing is in progress") };
const silence: RpcOutcome = { error: new RpcUnavailableError("no answer within 5000 ms", "unknown") };

/** The good answer of a node to which the hashes above are what their names say. */
function answerOf({ method, params: [hash] }: RpcCall): RpcOutcome {
  if (method === "eth_getTransactionCount") return { result: "0x7" };
  if (hash === bytesToHex(pending))
    return { result: method === LOOKUPS ? { hash, blockNumber: null } : null };
  if (hash !== bytesToHex(included)) return { result: null };
  const transaction = { blockNumber: "0x5", blockHash: bytesToHex(blockHash) };
  return {
    result:
      method === LOOKUPS
        ? transaction
        : { ...transaction, transactionHash: hash, gasUsed: "0x5208", status: "0x1" },
  };
}

/** A reader over a node, which records the method between the nonces of each request. */
function readerOver(answer: (calls: readonly RpcCall[]) => RpcOutcome[]) {
  const requests: string[] = [];
  let now = 0;
  const read = async (calls: readonly RpcCall[]) => {
    requests.push(calls.find(({ method }) => method !== "eth_getTransactionCount")?.method ?? "none");
    return answer(calls);
  };
  const snapshot = createSnapshotReader(
    {
      read,
      send: async () => [],
      readFromEach: async () => [],
      sendToEach: async () => [],
      sendToOthers: async () => {},
    },
    () => now,
  );
  const receipts = async (...hashes: Uint8Array[]) => (await snapshot([waiver], hashes)).receipts;
  return { snapshot, receipts, requests, pass: (ms: number) => (now += ms) };
}

describe("a snapshot", () => {
  it("has nonces and receipts of one request", async () => {
    const { snapshot, requests } = readerOver((calls) => calls.map(answerOf));
    expect(await snapshot([waiver], [included, missing, pending])).toEqual({
      nonces: [7n],
      receipts: [receipt, undefined, undefined],
      nonceAfter: 7n,
    });
    expect(requests).toEqual([RECEIPTS]);
  });

  it("takes no other transaction's receipt for the one that it asks for", async () => {
    const moved = { method: RECEIPTS, params: [bytesToHex(included)] };
    const { receipts } = readerOver((calls) =>
      calls.map((call) => answerOf(call.method === RECEIPTS ? moved : call)),
    );
    expect(await receipts(missing, included)).toEqual([undefined, receipt]);
  });

  it("looks transactions up where a missing receipt gets no answer, as with cosmos/evm, and for ten minutes does so first", async () => {
    const { receipts, requests, pass } = readerOver((calls) => {
      const isHeldBack = calls.some(
        (call) => call.method === RECEIPTS && call.params[0] !== bytesToHex(included),
      );
      return calls.map((call) => (isHeldBack ? silence : answerOf(call)));
    });
    expect(await receipts(included, missing)).toEqual([receipt, undefined]);
    expect(requests.splice(0)).toEqual([RECEIPTS, LOOKUPS, RECEIPTS]);
    expect(await receipts(pending, included)).toEqual([undefined, receipt]);
    expect(requests.splice(0)).toEqual([LOOKUPS, RECEIPTS]);
    pass(600_000);
    expect(await receipts(included)).toEqual([receipt]);
    expect(requests).toEqual([RECEIPTS]);
  });

  it("rejects where nothing is answered, and tries receipts first again", async () => {
    const { receipts, requests } = readerOver((calls) => calls.map(() => silence));
    for (let i = 0; i < 2; i++) await expect(receipts(missing)).rejects.toThrow("no answer");
    expect(requests).toEqual([RECEIPTS, LOOKUPS, RECEIPTS, LOOKUPS]);
  });

  it("does not know a receipt that a node refuses while it makes its index, and has all others", async () => {
    const { receipts } = readerOver((calls) =>
      calls.map((call) => (call.params[0] === bytesToHex(missing) ? indexing : answerOf(call))),
    );
    expect(await receipts(included, missing, pending)).toEqual([receipt, "unclear", undefined]);
  });

  it("has no receipt where a node refuses one and knows no such transaction, and does not know that of one in a block", async () => {
    const { receipts } = readerOver((calls) =>
      calls.map((call) => (call.method === RECEIPTS ? indexing : answerOf(call))),
    );
    expect(await receipts(included, missing, pending)).toEqual(["unclear", undefined, undefined]);
  });
});
