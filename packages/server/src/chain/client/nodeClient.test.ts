import { bytesToHex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import { isSameChain } from "../../store/chains.js";
import { NodeRpcError, type RpcCall, type RpcOutcome } from "../rpc/rpc.js";
import { MAX_SNAPSHOT_ITEMS, NodeClient } from "./nodeClient.js";

/** Creates a client of a node that records its batches. */
function recorded(answer: (call: RpcCall, batch: number) => RpcOutcome, chainId?: number) {
  const batches: (readonly RpcCall[])[] = [];
  const ask = async (calls: readonly RpcCall[]) => {
    batches.push(calls);
    const batch = batches.length;
    return calls.map((call) => answer(call, batch));
  };
  const rpc = {
    read: ask,
    send: async () => [],
    readFromEach: async () => [],
    sendToEach: async () => [],
    sendToOthers: async () => {},
  };
  const chain = new NodeClient(rpc, chainId);
  return { chain, sizes: () => batches.map((calls) => calls.length) };
}

const address = (i: number) => Uint8Array.from([...bytes(18, 0), i >> 8, i & 0xff]);
const all = Array.from({ length: 250 }, (_, i) => address(i));
const lastFour = ({ params }: RpcCall) => BigInt(`0x${String(params[0]).slice(-4)}`);
const echo = (call: RpcCall) => ({ result: `0x${lastFour(call).toString(16)}` });

describe("a read", () => {
  it("goes out in requests of a hundred calls, and returns the answers in the order of the calls", async () => {
    const { chain, sizes } = recorded(echo);
    expect(await chain.nonces(all)).toEqual(all.map((_, i) => BigInt(i)));
    expect(sizes()).toEqual([100, 100, 50]);
  });

  it("of a snapshot fits one request", async () => {
    const { chain, sizes } = recorded(({ method }) => ({
      result: method === "eth_getTransactionReceipt" ? null : "0x5",
    }));
    await chain.snapshot([address(1)], Array<Uint8Array>(MAX_SNAPSHOT_ITEMS - 1).fill(bytes(32, 1)));
    expect(sizes()).toEqual([100]);
  });
});

it("a height is none where the same node says that it is on another chain", async () => {
  const answers = new Map<string, RpcOutcome>([["eth_blockNumber", { result: "0x64" }]]);
  const { chain } = recorded(
    ({ method }) => answers.get(method) ?? { error: new NodeRpcError(-32_601, "not available") },
    2201,
  );
  expect(await chain.blockNumber()).toBe(100n);
  answers.set("eth_chainId", { result: "0x899" });
  expect(await chain.blockNumber()).toBe(100n);
  answers.set("eth_chainId", { result: "0x1" });
  await expect(chain.blockNumber()).rejects.toThrow("the node is on chain 1");
});

describe("the identity of a chain", () => {
  const [zeroth, first, later] = [bytes(32, 1), bytes(32, 2), bytes(32, 3)];
  /** Creates a client of a node that answers these blocks, as number and hash. */
  const identityOf = (blocks: Readonly<Record<string, readonly [string, Uint8Array] | null>>) =>
    recorded(({ method, params }) => {
      if (method === "eth_chainId") return { result: "0x899" };
      const block = blocks[String(params[0])];
      return { result: block ? { number: block[0], hash: bytesToHex(block[1]) } : null };
    }).chain.identity();

  it("is its id and the hash of block 0", async () => {
    const identity = await identityOf({ "0x0": ["0x0", zeroth], "0x1": ["0x1", first] });
    expect(identity).toEqual({ chainId: 2201, genesisHash: zeroth });
  });

  it("has the hash of block 1 where the node answers with its latest block for block 0, as cosmos/evm does", async () => {
    const identity = await identityOf({ "0x0": ["0x64", later], "0x1": ["0x1", first] });
    expect(identity).toEqual({ chainId: 2201, genesisHash: first });
  });

  it("has no hash where the first blocks are pruned, and then only the id tells the chain", async () => {
    const pruned = await identityOf({ "0x0": ["0x64", later], "0x1": null });
    const complete = await identityOf({ "0x0": null, "0x1": ["0x1", first] });
    const forked = await identityOf({ "0x0": null, "0x1": ["0x1", later] });
    expect(pruned.genesisHash).toEqual(bytes(32, 0));
    expect([isSameChain(pruned, complete), isSameChain(complete, forked)]).toEqual([true, false]);
    expect(isSameChain(pruned, { ...complete, chainId: 1 })).toBe(false);
  });
});

describe("what a node has no more", () => {
  const pruned: RpcOutcome = { error: new NodeRpcError(4_444, "pruned history unavailable") };
  const block = { number: "0x9", hash: bytesToHex(bytes(32, 9)), transactions: [] };

  it("is undefined among blocks and nonces of old states, and rejects nothing", async () => {
    const { chain } = recorded(({ params }) => (params.includes("0x9") ? { result: block } : pruned));
    expect(await chain.blockHashes([1n, 9n])).toEqual([undefined, bytes(32, 9)]);
    expect(await chain.blocks([9n, 1n])).toEqual([{ hash: bytes(32, 9), transactions: [] }, undefined]);
    // Besu has null as the nonce after a block above its head.
    const besu = recorded(({ params }) => ({ result: params.includes("0x9") ? "0x5" : null })).chain;
    expect(await besu.noncesAt(address(1), [9n, 10n])).toEqual([5n, undefined]);
  });

  it("leaves the identity with block 0 alone, or unknown; any other error rejects", async () => {
    const identityBy = (zeroth: RpcOutcome, first: RpcOutcome) =>
      recorded(({ method, params }) => {
        if (method === "eth_chainId") return { result: "0x899" };
        return params[0] === "0x0" ? zeroth : first;
      }).chain.identity();
    const genesis = { result: { number: "0x0", hash: bytesToHex(bytes(32, 1)) } };
    expect((await identityBy(genesis, pruned)).genesisHash).toEqual(bytes(32, 1));
    expect((await identityBy(pruned, pruned)).genesisHash).toEqual(bytes(32, 0));
    const broken: RpcOutcome = { error: new NodeRpcError(-32_603, "Internal error") };
    await expect(identityBy(broken, pruned)).rejects.toThrow("Internal error");
  });
});
