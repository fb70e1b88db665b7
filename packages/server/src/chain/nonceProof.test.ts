import { bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { ModelChain, RefusedByNode } from "../../test/support/modelChain.js";
import { userAddress } from "../../test/support/user.js";
import { createNodeClient } from "./nodeClient.js";
import { createNonceProofs } from "./nonceProof.js";
import { type RpcCall, RpcError, type RpcOutcome } from "./rpc.js";

const account = userAddress(1);

/** The nonce proofs over a model chain, and every call that the node got. */
function proofsOver(model: ModelChain, reorgDepth = 0) {
  const calls: RpcCall[] = [];
  const answer = (call: RpcCall): RpcOutcome => {
    calls.push(call);
    try {
      return { result: model.read(call.method, call.params) };
    } catch (error) {
      if (!(error instanceof RefusedByNode)) throw error;
      return { error: new RpcError(-32_000, error.message) };
    }
  };
  const read = async (batch: readonly RpcCall[]) => batch.map(answer);
  const chain = createNodeClient({
    read,
    send: read,
    readEach: async (batch) => [await read(batch)],
    health: () => [],
  });
  return { proofs: createNonceProofs({ chain, reorgDepth }), calls };
}

/** A chain of so many blocks, in which the account uses a nonce in each of these. */
function chainOf(blocks: number, uses: readonly number[]): ModelChain {
  const model = new ModelChain("strict");
  for (let height = 1; height <= blocks; height++) {
    model.mine();
    if (uses.includes(height)) model.setNonce(account, model.nonceOf(account) + 1n);
  }
  return model;
}

const accountNonce = (nonce: bigint) => ({ account: hexToBytes(account), nonce });

describe("the proof of who used a nonce", () => {
  it("names transaction and block", async () => {
    const { proofs } = proofsOver(chainOf(40, [3, 21, 22, 40]));
    const found = await Promise.all([0n, 1n, 2n, 3n].map((nonce) => proofs.find(accountNonce(nonce))));
    expect(found.map((use) => use?.blockNumber)).toEqual([3n, 21n, 22n, 40n]);
    expect(found.map((use) => use?.transaction.nonce)).toEqual([0n, 1n, 2n, 3n]);
    expect(found.map((use) => use && bytesToHex(use.transaction.from))).toEqual(Array(4).fill(account));
  });

  it("is undefined while the nonce is free", async () => {
    const { proofs } = proofsOver(chainOf(10, [4]));
    expect(await proofs.find(accountNonce(1n))).toBeUndefined();
  });

  it("is undefined before the block is final", async () => {
    const model = chainOf(10, [9]);
    const { proofs } = proofsOver(model, 3);
    expect(await proofs.find(accountNonce(0n))).toBeUndefined();
    model.mine();
    expect(await proofs.find(accountNonce(0n))).toBeUndefined();
    model.mine();
    expect((await proofs.find(accountNonce(0n)))?.blockNumber).toBe(9n);
  });

  it("is undefined on a chain that is shorter than the depth of a final block", async () => {
    const { proofs } = proofsOver(chainOf(2, [1]), 3);
    expect(await proofs.find(accountNonce(0n))).toBeUndefined();
  });

  it("finds a nonce that the genesis block used", async () => {
    const model = new ModelChain("strict");
    model.setNonce(account, 2n);
    model.mine();
    expect((await proofsOver(model).proofs.find(accountNonce(1n)))?.blockNumber).toBe(0n);
  });

  it("asks for few states, and for one block", async () => {
    const { proofs, calls } = proofsOver(chainOf(1_000, [777]));
    await proofs.find(accountNonce(0n));
    const methods = calls.map(({ method }) => method);
    expect(methods.filter((method) => method === "eth_getBlockByNumber")).toHaveLength(1);
    expect(methods.length).toBeLessThan(24);
  });

  it("reads block after block where the node has no old states, in several calls", async () => {
    const model = chainOf(300, [40]);
    model.statesFrom = 1_000_000;
    const { proofs } = proofsOver(model);
    expect(await proofs.find(accountNonce(0n))).toBeUndefined();
    expect(await proofs.find(accountNonce(0n))).toBeUndefined();
    expect((await proofs.find(accountNonce(0n)))?.blockNumber).toBe(40n);
  });

  it("reads the blocks that came since, where the node has no old states", async () => {
    const model = chainOf(30, []);
    model.statesFrom = 1_000_000;
    const { proofs } = proofsOver(model);
    expect(await proofs.find(accountNonce(0n))).toBeUndefined();
    model.mine();
    model.setNonce(account, 1n);
    model.mine();
    expect((await proofs.find(accountNonce(0n)))?.blockNumber).toBe(31n);
  });

  it("is undefined where a node's states and blocks contradict each other", async () => {
    const model = chainOf(20, [5]);
    const { calls } = proofsOver(model);
    const chain = {
      blockNumber: async () => 20n,
      noncesAt: async () => [1n],
      blocks: async (numbers: readonly bigint[]) =>
        numbers.map(() => ({ hash: new Uint8Array(32), transactions: [] })),
    };
    expect(await createNonceProofs({ chain, reorgDepth: 0 }).find(accountNonce(0n))).toBeUndefined();
    expect(calls).toEqual([]);
  });
});
