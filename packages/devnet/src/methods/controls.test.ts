import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createDevnet } from "../createDevnet.js";
import { BYTECODE, place, slotOf, wordOf } from "../testing/bytecode.js";
import {
  addressOf,
  createTestNode,
  hashOf,
  signInner,
  signOrdinary,
  type TestNode,
  wrap,
} from "../testing/node.js";

const START = 1_700_000_000;
let node: TestNode;
let now: number;
beforeEach(async () => {
  now = START * 1_000;
  node = await createTestNode({ now: () => now });
});
afterEach(() => node.devnet.close());

const number = async () => Number(await node.rpc<Hex>("eth_blockNumber"));
const time = async () =>
  Number((await node.rpc<{ timestamp: Hex }>("eth_getBlockByNumber", "latest")).timestamp);
const toUser = { to: hexToBytes(addressOf(0)), data: new Uint8Array(), value: 5n };

describe("mining", () => {
  it("makes one block, or many, when told to", async () => {
    expect(await node.rpc("evm_mine")).toBe("0x0");
    await node.rpc("evm_mine", { blocks: 3 });
    await node.rpc("anvil_mine", "0x2");
    await node.rpc("hardhat_mine", "0x2", "0xa");
    expect(await number()).toBe(8);
    expect(await time()).toBe(START + 10);
    await expect(node.rpc("evm_mine", { blocks: 100_001 })).rejects.toMatchObject({ code: -32602 });
  });

  it("follows each request, or does not", async () => {
    await node.rpc("evm_setAutomine", true);
    expect(await node.rpc("anvil_getAutomine")).toBe(true);
    await node.send(signOrdinary(13, toUser));
    expect(await number()).toBe(1);
    await node.rpc("evm_setAutomine", false);
    await node.send(signOrdinary(13, { ...toUser, nonce: 1n }));
    expect(await number()).toBe(1);
    await expect(node.rpc("evm_setAutomine", 1)).rejects.toMatchObject({ code: -32602 });
  });

  it("may come at an interval, given in seconds, and stop", async () => {
    const blocks = new Promise<void>((resolve) => {
      let count = 0;
      node.devnet.onBlock(() => {
        if (++count === 2) resolve();
      });
    });
    await node.rpc("evm_setIntervalMining", 0.005);
    expect(await node.rpc("anvil_getIntervalMining")).toBe(0.005);
    await node.rpc("evm_setAutomine", false);
    await blocks;
    await node.rpc("evm_setAutomine", true);
    expect(await node.rpc("anvil_getIntervalMining")).toBeNull();
    await node.rpc("evm_setIntervalMining", 60);
    await node.rpc("evm_setIntervalMining", 0);
    expect(await node.rpc("anvil_getIntervalMining")).toBeNull();
    for (const wrong of ["soon", -1, null]) {
      await expect(node.rpc("evm_setIntervalMining", wrong)).rejects.toMatchObject({ code: -32602 });
    }
  });
});

describe("time", () => {
  it("can be set forward, and goes on from there", async () => {
    expect(await node.rpc("evm_increaseTime", 100)).toBe(100);
    await node.devnet.mine();
    expect(await time()).toBe(START + 100);
    expect(await node.rpc("evm_increaseTime", "0x10")).toBe(116);
    now += 4_000;
    await node.devnet.mine();
    expect(await time()).toBe(START + 120);
  });

  it("of the next block can be given exactly", async () => {
    await node.rpc("evm_setNextBlockTimestamp", START + 1_000);
    await node.devnet.mine();
    expect(await time()).toBe(START + 1_000);
    now += 2_000;
    await node.rpc("evm_mine", { blocks: 2, timestamp: START + 2_000 });
    expect(await time()).toBe(START + 2_000);
    now += 7_000;
    await node.rpc("evm_mine", (START + 3_000).toString());
    now += 3_000;
    await node.devnet.mine();
    expect(await time()).toBe(START + 3_003);
    await expect(node.rpc("evm_setNextBlockTimestamp", START)).rejects.toMatchObject({
      reason: "TIMESTAMP_IN_THE_PAST",
    });
  });
});

describe("snapshots", () => {
  it("bring back blocks, state, pool and clock, once", async () => {
    await node.sendAndMine(wrap(signInner(0)));
    const waiting = wrap(signInner(1), { nonce: 1n });
    await node.send(waiting);
    await node.rpc("anvil_setBalance", addressOf(3), "0x3");
    const id = await node.rpc<Hex>("evm_snapshot");
    const before = await node.rpc("eth_getBlockByNumber", "latest");
    const tokens = await node.tokens(9);

    const later = wrap(signInner(0, { nonce: 1n }), { nonce: 2n });
    await node.rpc("evm_increaseTime", 1_000);
    await node.rpc("anvil_setBalance", addressOf(3), "0x4");
    await node.sendAndMine(later);
    expect(await node.tokens(9)).toBe(tokens + 2n * 10n ** 18n);

    expect(await node.rpc("evm_revert", id)).toBe(true);
    expect(await node.rpc("eth_getBlockByNumber", "latest")).toEqual(before);
    expect(await node.tokens(9)).toBe(tokens);
    expect(await node.balance(3)).toBe(3n);
    expect(await node.receipt(hashOf(later))).toBeNull();
    expect(await node.rpc("txpool_status")).toEqual({ pending: "0x1", queued: "0x0" });
    expect(await node.rpc("evm_revert", id)).toBe(false);

    await node.devnet.mine();
    expect(await time()).toBe(START);
    expect(await node.receipt(hashOf(waiting))).toMatchObject({ status: "0x1" });
  });

  it("are void when an earlier one is used, and work over more blocks than states are kept", async () => {
    const short = await createTestNode({ historyBlocks: 2 });
    const first = await short.rpc("evm_snapshot");
    await short.sendAndMine(wrap(signInner(0)));
    const second = await short.rpc("evm_snapshot");
    await short.rpc("evm_mine", { blocks: 10 });
    expect(await short.rpc("evm_revert", first)).toBe(true);
    expect(await short.rpc("evm_revert", second)).toBe(false);
    expect(await short.rpc("evm_revert", "0x99")).toBe(false);
    expect(await short.rpc("eth_blockNumber")).toBe("0x0");
    // The same transaction gives the same state again.
    await short.sendAndMine(wrap(signInner(0)));
    const root = (await short.rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest")).stateRoot;
    await node.sendAndMine(wrap(signInner(0)));
    expect((await node.rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest")).stateRoot).toBe(root);
    await short.devnet.close();
  });
});

describe("changes that no transaction makes", () => {
  it("are seen at once, and the next block's root has them", async () => {
    await node.rpc("anvil_setBalance", addressOf(0), "0x64");
    await node.rpc("anvil_setNonce", addressOf(0), "0x5");
    expect(await node.balance(0)).toBe(100n);
    expect(await node.nonce(0)).toBe(5n);
    await node.devnet.mine();
    const root = async (rpc: TestNode["rpc"]) =>
      (await rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest")).stateRoot;

    // A chain on which a transfer brought the balance has another nonce of the funded account, and so on: set all.
    const other = await createTestNode({ now: () => now });
    await other.devnet.mine();
    expect(await root(node.rpc)).not.toBe(await root(other.rpc));
    await other.rpc("anvil_setNonce", addressOf(0), "0x5");
    await other.rpc("anvil_setBalance", addressOf(0), "0x64");
    await other.devnet.mine();
    expect(await root(node.rpc)).toBe(await root(other.rpc));
    await other.devnet.close();
  });

  it("are not part of the block before, once there is a later one", async () => {
    await node.devnet.mine();
    await node.rpc("anvil_setBalance", addressOf(0), "0x64");
    const balance = (tag: string) => node.rpc("eth_getBalance", addressOf(0), tag);
    expect(await balance("0x1")).toBe("0x64");
    await node.devnet.mine();
    expect([await balance("0x1"), await balance("0x2")]).toEqual(["0x0", "0x64"]);
  });

  it("place code and storage", async () => {
    const recorder = await place(node, 1, BYTECODE.recorder);
    expect(await node.rpc("eth_getCode", recorder, "latest")).toBe(BYTECODE.recorder);
    await node.rpc("anvil_setStorageAt", recorder, "0x5", bytesToHex(wordOf(0x1234n)));
    expect(await slotOf(node, recorder, 5)).toBe(0x1234n);
    await node.rpc("anvil_setStorageAt", recorder, "0x5", bytesToHex(wordOf(0n)));
    expect(await slotOf(node, recorder, 5)).toBe(0n);
    await expect(node.rpc("anvil_setStorageAt", recorder, "0x5", "0x1")).rejects.toMatchObject({
      code: -32602,
    });
  });
});

describe("eth_sendTransaction", () => {
  it("sends for the devnet's own accounts, signed with their keys, at the least price", async () => {
    const hash = await node.rpc<Hex>("eth_sendTransaction", {
      from: addressOf(13),
      to: addressOf(0),
      value: "0x7",
    });
    await node.devnet.mine();
    expect(await node.receipt(hash)).toMatchObject({
      status: "0x1",
      effectiveGasPrice: "0x3b9aca00",
      gasUsed: "0x5208",
    });
    expect(await node.balance(0)).toBe(7n);
    const raw = await node.rpc<Hex>("eth_getRawTransactionByHash", hash);
    expect(hashOf(raw)).toBe(hash);
    expect(await node.rpc<Hex[]>("eth_accounts")).toContain(addressOf(13));
  });

  it("sends for an impersonated account, a contract as well, and for no other", async () => {
    const contract = await place(node, 1, BYTECODE.recorder);
    const target = await place(node, 2, BYTECODE.recorder);
    await node.rpc("anvil_setBalance", contract, "0xde0b6b3a7640000");
    const send = (changes: object = {}) =>
      node.rpc<Hex>("eth_sendTransaction", { from: contract, to: target, ...changes });
    await expect(send()).rejects.toThrow("neither the devnet's nor impersonated");
    await node.rpc("anvil_impersonateAccount", contract);
    expect(await node.rpc<Hex[]>("eth_accounts")).toContain(contract);
    const hashes = [await send(), await send({ gasPrice: "0x77359400" })];
    await node.devnet.mine();
    expect(node.devnet.drops()).toEqual([]);
    expect(await slotOf(node, target, 0)).toBe(BigInt(contract));
    for (const hash of hashes) {
      expect(await node.receipt(hash)).toMatchObject({ status: "0x1", from: contract });
      expect(hashOf(await node.rpc<Hex>("eth_getRawTransactionByHash", hash))).toBe(hash);
      expect(await node.rpc("debug_traceTransaction", hash, { tracer: "callTracer" })).toMatchObject({
        from: contract,
      });
    }
    expect(await node.rpc("eth_getCode", contract, "latest")).toBe(BYTECODE.recorder);
    await node.rpc("anvil_stopImpersonatingAccount", contract);
    await expect(send()).rejects.toThrow("neither the devnet's nor impersonated");
    await node.rpc("anvil_autoImpersonateAccount", true);
    await send();
  });

  it("gives many that come at once a nonce each", async () => {
    const send = () =>
      node.rpc<Hex>("eth_sendTransaction", { from: addressOf(13), to: addressOf(0), value: "0x1" });
    const results = await Promise.all(Array.from({ length: 5 }, send));
    await node.devnet.mine();
    for (const hash of results) expect(await node.receipt(hash)).toMatchObject({ status: "0x1" });
    expect(await node.balance(0)).toBe(5n);
  });

  it("is held to the rules: the least price, the balance, and no wrappers", async () => {
    const from = addressOf(13);
    const send = (changes: object) => node.rpc("eth_sendTransaction", { from, to: addressOf(0), ...changes });
    await expect(send({ gasPrice: "0x1" })).rejects.toMatchObject({ reason: "GAS_PRICE_BELOW_MINIMUM" });
    await expect(send({ value: "0xffffffffffffffffffffffff" })).rejects.toThrow("insufficient funds");
    await expect(send({ to: "0x000000000000000000000000000000000000f333" })).rejects.toMatchObject({
      code: -32602,
    });
    await expect(send({ gasPrice: "0x1", maxFeePerGas: "0x1" })).rejects.toMatchObject({ code: -32602 });
  });
});

describe("eth_feeHistory", () => {
  it("shows what paid transactions offered, by share of their gas, and the floor where none paid", async () => {
    const prices = [3n, 1n, 2n].map((gwei) => gwei * 10n ** 9n);
    await node.sendAndMine(
      wrap(signInner(0)),
      ...prices.map((gasPrice, i) => signOrdinary(13, { ...toUser, nonce: BigInt(i), gasPrice })),
    );
    await node.devnet.mine();
    const history = await node.rpc<Record<string, unknown>>("eth_feeHistory", "0x2", "latest", [0, 50, 100]);
    expect(history).toMatchObject({
      oldestBlock: "0x1",
      baseFeePerGas: ["0x0", "0x0", "0x0"],
      gasUsedRatio: [expect.any(Number), 0],
      reward: [
        ["0x3b9aca00", "0x77359400", "0xb2d05e00"],
        ["0x3b9aca00", "0x3b9aca00", "0x3b9aca00"],
      ],
    });
    await expect(node.rpc("eth_feeHistory", 1, "latest", [50, 10])).rejects.toMatchObject({ code: -32602 });
    expect(await node.rpc("eth_feeHistory", 0, "latest")).toMatchObject({ gasUsedRatio: [] });
  });
});

it("a devnet that mines on demand has a block for each change of the pool, and none for reads", async () => {
  const devnet = await createDevnet({ blockTimeMs: 0 });
  await devnet.request({ method: "eth_sendRawTransaction", params: [wrap(signInner(0))] });
  await devnet.request({ method: "anvil_setBalance", params: [addressOf(0), "0x1"] });
  expect(await devnet.request({ method: "eth_blockNumber" })).toBe("0x1");
  await devnet.close();
});
