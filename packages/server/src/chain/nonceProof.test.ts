import {
  bigIntToBytes,
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  crypto,
  encodeRlp,
  hexToBytes,
  publicKeyToAddress,
} from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { ModelChain, RefusedByNode } from "../../test/support/modelChain.js";
import { userAddress } from "../../test/support/user.js";
import type { Authorization } from "./client/authorizations.js";
import { type BlockTransaction, NodeClient } from "./client/nodeClient.js";
import { createNonceProofs, type NonceProofs, SEARCH_AFTER_MS, type SearchedNonce } from "./nonceProof.js";
import type { NonceUse } from "./nonceUse.js";
import { NodeRpcError, type RpcCall, type RpcOutcome } from "./rpc/rpc.js";

const account = userAddress(1);
/** The order of the curve secp256k1. */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The nonce proofs over a model chain, and every call that the node got. */
function proofsOver(
  model: ModelChain,
  reorgDepth = 0,
  now = () => 0,
  wrongAnswer: (call: RpcCall) => RpcOutcome | undefined = () => undefined,
) {
  const calls: RpcCall[] = [];
  const answer = (call: RpcCall): RpcOutcome => {
    calls.push(call);
    const wrong = wrongAnswer(call);
    if (wrong) return wrong;
    try {
      return { result: model.read(call.method, call.params) };
    } catch (error) {
      if (!(error instanceof RefusedByNode)) throw error;
      return { error: new NodeRpcError(-32_000, error.message) };
    }
  };
  const read = async (batch: readonly RpcCall[]) => batch.map(answer);
  const chain = new NodeClient({
    read,
    send: async () => [],
    readFromEach: async () => [],
    sendToEach: async () => [],
    sendToOthers: async () => {},
  });
  return { proofs: createNonceProofs({ chain, reorgDepth, now, searchAfterMs: 0 }), calls, chain };
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

/** Searches until the use is found, or there is nothing more to read. */
async function prove(proofs: NonceProofs, wanted: SearchedNonce): Promise<NonceUse | undefined> {
  while ((await proofs.find(wanted)) === undefined && (await proofs.search()) !== "rest");
  return await proofs.find(wanted);
}

describe("the proof of who used a nonce", () => {
  it("of many nonces costs as many requests as of one", async () => {
    const uses = Array.from({ length: 40 }, (_, i) => 2 * i + 3);
    const [one, all] = [1, 40].map((count) => ({ ...proofsOver(chainOf(100, uses)), count }));
    for (const { proofs, count } of [one, all].filter((side) => side !== undefined)) {
      for (let i = 0; i < count; i++) await proofs.find(accountNonce(39n - BigInt(i)));
      while ((await proofs.search()) !== "rest");
      const found = await Promise.all(uses.map((_, i) => proofs.find(accountNonce(BigInt(i)))));
      expect(found.filter((use) => use !== undefined)).toHaveLength(count);
    }
    expect(all?.calls.length).toBeLessThanOrEqual(2 * (one?.calls.length ?? 0));
  });

  it("of a nonce near the head of the chain does not wait for that of one far behind", async () => {
    const { proofs } = proofsOver(chainOf(300, [200, 295]));
    const [far, near] = [0n, 1n].map((nonce) => ({ ...accountNonce(nonce), sinceBlock: 290n * nonce }));
    if (far === undefined || near === undefined) throw new Error("two nonces are looked for");
    for (const one of [far, near]) await proofs.find(one);
    for (let searches = 0; searches < 3; searches++) await proofs.search();
    expect((await proofs.find(near))?.blockNumber).toBe(295n);
    expect(await proofs.find(far)).toBeUndefined();
  });

  it("is not looked for before the receipt that goes with the nonce has had time to come", async () => {
    let now = 0;
    const { calls, chain } = proofsOver(chainOf(4, [3]));
    const proofs = createNonceProofs({ chain, reorgDepth: 0, now: () => now });
    expect(await prove(proofs, accountNonce(0n))).toBeUndefined();
    now = SEARCH_AFTER_MS - 1;
    expect(await prove(proofs, accountNonce(0n))).toBeUndefined();
    expect(calls.filter(({ method }) => !["eth_blockNumber", "eth_chainId"].includes(method))).toEqual([]);
    now = SEARCH_AFTER_MS;
    expect((await prove(proofs, accountNonce(0n)))?.blockNumber).toBe(3n);
  });

  it("is looked for at once where no receipt is to come", async () => {
    const { chain } = proofsOver(chainOf(4, [3]));
    const proofs = createNonceProofs({ chain, reorgDepth: 0, now: () => 0 });
    expect(await prove(proofs, accountNonce(0n))).toBeUndefined();
    expect((await prove(proofs, { ...accountNonce(0n), isUrgent: true }))?.blockNumber).toBe(3n);
  });

  it("begins with the block in which the nonce may have been used first", async () => {
    const { proofs, calls } = proofsOver(chainOf(100, [97]));
    expect((await prove(proofs, { ...accountNonce(0n), sinceBlock: 95n }))?.blockNumber).toBe(97n);
    const read = calls.filter(({ method }) => method === "eth_getBlockByNumber");
    expect(read.map(({ params }) => Number(params[0]))).toEqual([95, 96, 97, 98, 99, 100]);
  });

  it("passes over the blocks that were pruned in few requests, and tells that the nonce is unproven after a while", async () => {
    let now = 0;
    const model = chainOf(900, [3, 895]);
    model.statesFrom = 1_000_000;
    const pruned = ({ method, params: [height] }: RpcCall) =>
      method === "eth_getBlockByNumber" && Number(height) < 890 ? { result: null } : undefined;
    const { proofs, calls } = proofsOver(model, 0, () => now, pruned);
    await proofs.find({ ...accountNonce(0n), sinceBlock: 1n });
    expect((await prove(proofs, { ...accountNonce(1n), sinceBlock: 1n }))?.blockNumber).toBe(895n);
    while ((await proofs.search()) !== "rest");
    expect(calls.length).toBeLessThan(100);
    expect(proofs.unproven()).toEqual([]);
    now = 30_000;
    expect(proofs.unproven()).toMatchObject([accountNonce(0n)]);
  });

  it("waits for the blocks of a node that is behind the one that told the head", async () => {
    const model = chainOf(20, [19]);
    let shown = 15;
    const behind = ({ method, params: [height] }: RpcCall) =>
      method === "eth_getBlockByNumber" && Number(height) > shown ? { result: null } : undefined;
    const { proofs } = proofsOver(model, 0, () => 0, behind);
    const wanted = { ...accountNonce(0n), sinceBlock: 14n };
    model.statesFrom = 1_000_000;
    expect(await prove(proofs, wanted)).toBeUndefined();
    shown = 20;
    expect((await prove(proofs, wanted))?.blockNumber).toBe(19n);
  });

  it("names transaction and block", async () => {
    const { proofs } = proofsOver(chainOf(40, [3, 21, 22, 40]));
    const found = await Promise.all([0n, 1n, 2n, 3n].map((nonce) => prove(proofs, accountNonce(nonce))));
    expect(found.map((use) => use?.blockNumber)).toEqual([3n, 21n, 22n, 40n]);
    expect(found.map((use) => use?.transaction.nonce)).toEqual([0n, 1n, 2n, 3n]);
    expect(found.map((use) => use && bytesToHex(use.transaction.from))).toEqual(Array(4).fill(account));
  });

  it("is remembered for a minute, in which all nonces of the account up to it count as used", async () => {
    let now = 0;
    const { proofs } = proofsOver(chainOf(40, [3, 21, 22, 40]), 0, () => now);
    expect(proofs.usedBelow(hexToBytes(account))).toBe(0n);
    await prove(proofs, accountNonce(2n));
    await prove(proofs, accountNonce(1n));
    await prove(proofs, accountNonce(9n));
    expect(proofs.usedBelow(hexToBytes(account))).toBe(3n);
    expect(proofs.usedBelow(new Uint8Array(20))).toBe(0n);
    now = 60_000;
    expect(proofs.usedBelow(hexToBytes(account))).toBe(0n);
  });

  it("costs each step of a lane the same, however many uses are remembered", async () => {
    let looks = 0;
    const { proofs } = proofsOver(chainOf(40, [3, 21, 22, 40]), 0, () => 0 * ++looks);
    for (const nonce of [0n, 1n, 2n, 3n]) await prove(proofs, accountNonce(nonce));
    looks = 0;
    expect([proofs.usedBelow(hexToBytes(account)), looks]).toEqual([4n, 1]);
  });

  it("is undefined while the nonce is free", async () => {
    const { proofs } = proofsOver(chainOf(10, [4]));
    expect(await prove(proofs, accountNonce(1n))).toBeUndefined();
  });

  it("is undefined before the block is final", async () => {
    const model = chainOf(10, [9]);
    const { proofs } = proofsOver(model, 3);
    expect(await prove(proofs, accountNonce(0n))).toBeUndefined();
    model.mine();
    expect(await prove(proofs, accountNonce(0n))).toBeUndefined();
    model.mine();
    expect((await prove(proofs, accountNonce(0n)))?.blockNumber).toBe(9n);
  });

  it("is undefined on a chain that is shorter than the depth of a final block", async () => {
    const { proofs } = proofsOver(chainOf(2, [1]), 3);
    expect(await prove(proofs, accountNonce(0n))).toBeUndefined();
  });

  it("finds a nonce that the genesis block used", async () => {
    const model = new ModelChain("strict");
    model.setNonce(account, 2n);
    model.mine();
    expect((await prove(proofsOver(model).proofs, accountNonce(1n)))?.blockNumber).toBe(0n);
  });

  it("asks for few states, and for one block", async () => {
    const { proofs, calls } = proofsOver(chainOf(1_000, [777]));
    await prove(proofs, accountNonce(0n));
    const methods = calls.map(({ method }) => method);
    expect(methods.filter((method) => method === "eth_getBlockByNumber")).toHaveLength(1);
    expect(methods.length).toBeLessThan(24);
  });

  it("reads block after block where the node has no old states, in several calls", async () => {
    const model = chainOf(300, [40]);
    model.statesFrom = 1_000_000;
    const { proofs } = proofsOver(model);
    for (let calls = 0; calls < 3; calls++) {
      expect(await proofs.find(accountNonce(0n))).toBeUndefined();
      await proofs.search();
    }
    expect((await prove(proofs, accountNonce(0n)))?.blockNumber).toBe(40n);
  });

  it("reads block after block where the node has 0 as the nonce after a block whose state it has no more, as Besu does", async () => {
    const model = chainOf(40, [3, 21]);
    const { proofs } = proofsOver(
      model,
      0,
      () => 0,
      (call) => {
        const isOld = call.method === "eth_getTransactionCount" && Number(call.params[1]) < 35;
        return isOld ? { result: "0x0" } : undefined;
      },
    );
    expect((await prove(proofs, accountNonce(1n)))?.blockNumber).toBe(21n);
  });

  it("reads the blocks that came since, where the node has no old states", async () => {
    const model = chainOf(30, []);
    model.statesFrom = 1_000_000;
    const { proofs } = proofsOver(model);
    expect(await prove(proofs, accountNonce(0n))).toBeUndefined();
    model.mine();
    model.setNonce(account, 1n);
    model.mine();
    expect((await prove(proofs, accountNonce(0n)))?.blockNumber).toBe(31n);
  });

  it.each([undefined, null, "0x0", "0x4", 2])("is a transaction whose type is %j", async (type) => {
    const model = chainOf(3, [2]);
    const { proofs } = proofsOver(model, 0, undefined, ({ method, params }) => {
      if (method !== "eth_getBlockByNumber") return undefined;
      const block = model.read(method, params) as { readonly transactions: readonly object[] };
      return { result: { ...block, transactions: block.transactions.map((one) => ({ ...one, type })) } };
    });
    expect(await prove(proofs, { ...accountNonce(0n), sinceBlock: 1n })).toMatchObject({ blockNumber: 2n });
  });

  it("is no transaction that cannot be read, nor one with nonces of its own, and both may stand beside it", async () => {
    const model = chainOf(10, [5]);
    const hash = `0x${"ab".repeat(32)}`;
    const custom = { hash, from: account, nonce: "0x0", to: account, input: "0x", type: "0x3f" };
    const { proofs } = proofsOver(model, 0, undefined, ({ method, params }) => {
      if (method !== "eth_getBlockByNumber") return undefined;
      const block = model.read(method, params) as { readonly transactions: readonly object[] };
      return {
        result: {
          ...block,
          transactions: [...block.transactions, custom, { ...custom, type: "0x2", from: null }],
        },
      };
    });
    const use = await prove(proofs, { ...accountNonce(0n), sinceBlock: 1n });
    expect(use).toMatchObject({ blockNumber: 5n, hasUnread: true });
    expect(bytesToHex(use?.transaction.hash ?? new Uint8Array())).not.toBe(hash);
  });

  it("is undefined where a node's states and blocks contradict each other", async () => {
    const model = chainOf(20, [5]);
    const { calls } = proofsOver(model);
    const chain = {
      blockNumber: async () => 20n,
      noncesAt: async () => [1n],
      blockHashes: async () => [],
      blocks: async (numbers: readonly bigint[]) =>
        numbers.map(() => ({ hash: new Uint8Array(32), transactions: [] })),
    };
    expect(
      await prove(createNonceProofs({ chain, reorgDepth: 0, searchAfterMs: 0 }), accountNonce(0n)),
    ).toBeUndefined();
    expect(calls).toEqual([]);
  });

  describe("of an account whose authorization used it (EIP-7702)", () => {
    const signed = (nonce: bigint, chainId = 2201n): Authorization => {
      const address = new Uint8Array(20).fill(3);
      const text = encodeRlp([bigIntToBytes(chainId), address, bigIntToBytes(nonce)]);
      const signature = crypto.sign(crypto.keccak256(concatBytes(Uint8Array.of(5), text)), KEY);
      const [r, s] = [signature.compact.subarray(0, 32), signature.compact.subarray(32)].map(bytesToBigInt);
      return { chainId, address, nonce, yParity: BigInt(signature.yParity), r: r ?? 0n, s: s ?? 0n };
    };
    const KEY = new Uint8Array(32).fill(9);
    const authority = publicKeyToAddress(crypto.publicKey(KEY));
    const other = { from: new Uint8Array(20).fill(8), to: undefined, input: new Uint8Array() };
    const transactionWith = (fill: number, nonce: bigint, authorizations: readonly Authorization[]) => ({
      ...other,
      ...{ hash: new Uint8Array(32).fill(fill), nonce, authorizations },
    });
    /** A chain whose block 5 has these transactions, and after which the account's next nonce is 2; 1 before it. */
    const proofsWith = (transactions: readonly BlockTransaction[], hasStates = true) =>
      createNonceProofs({
        reorgDepth: 0,
        searchAfterMs: 0,
        chain: {
          blockNumber: async () => 9n,
          noncesAt: async (_, heights) =>
            heights.map((height) => (hasStates ? (height >= 5n ? 2n : 1n) : undefined)),
          blockHashes: async () => [],
          blocks: async (heights) =>
            heights.map((height) => ({
              hash: new Uint8Array(32).fill(Number(height)),
              transactions: height === 5n ? transactions : [],
            })),
        },
      });
    const found = (proofs: NonceProofs) => prove(proofs, { account: authority, nonce: 1n });

    it("is the block in which its nonce rose, with the transaction that has the authorization", async () => {
      const unrelated = transactionWith(1, 4n, [signed(0n)]);
      const use = await found(proofsWith([unrelated, transactionWith(2, 5n, [signed(7n), signed(1n)])]));
      expect(use).toMatchObject({ by: "authorization", nonce: 1n, blockNumber: 5n });
      expect(use?.transaction.hash[0]).toBe(2);
    });

    it("is a transaction of its own with this nonce, where the block has one", async () => {
      const own = { ...transactionWith(3, 1n, []), from: authority };
      const use = await found(proofsWith([transactionWith(2, 5n, [signed(1n)]), own]));
      expect(use).toMatchObject({ by: "sender", transaction: own });
    });

    it("is none by an authorization with another nonce, or with a signature of another form", async () => {
      const high = { ...signed(1n), s: CURVE_ORDER - signed(1n).s, yParity: 1n - signed(1n).yParity };
      const odd = { ...signed(1n), yParity: 27n };
      expect(await found(proofsWith([transactionWith(2, 5n, [signed(2n), high, odd])]))).toBeUndefined();
    });

    it("is none where the node has no old states: a block may list an authorization that had no effect", async () => {
      expect(await found(proofsWith([transactionWith(2, 5n, [signed(1n)])], false))).toBeUndefined();
    });
  });
});
