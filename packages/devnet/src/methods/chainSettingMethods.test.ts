import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { addressOf, hashOf, signInner, signOrdinary, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";

interface BlockJson {
  readonly number: Hex;
  readonly hash: Hex;
  readonly stateRoot: Hex;
  readonly miner: Hex;
  readonly mixHash: Hex;
  readonly gasLimit: Hex;
  readonly timestamp: Hex;
}

const START = 1_700_000_000;
const STRANGER: Hex = `0x${"5a".repeat(20)}`;
const RANDAO: Hex = `0x${"7b".repeat(32)}`;
const node = useTestNode(() => ({ now: () => START * 1_000 }));

const block = (tag = "latest") => node.rpc<BlockJson>("eth_getBlockByNumber", tag);
const payment = { to: hexToBytes(STRANGER), value: 5n, data: new Uint8Array(), gasLimit: 21_000n };

describe("settings of the chain", () => {
  it("give the next blocks their coinbase, randomness, gas limit and times", async () => {
    await node.rpc("hardhat_setCoinbase", STRANGER);
    await node.rpc("hardhat_setPrevRandao", RANDAO);
    await node.rpc("evm_setBlockGasLimit", "0xf4240");
    await node.rpc("anvil_setBlockTimestampInterval", 7);
    await node.rpc("anvil_mine", "0x2");
    const [first, second] = [await block("0x1"), await block("0x2")];
    expect(first).toMatchObject({ miner: STRANGER, mixHash: RANDAO, gasLimit: "0xf4240" });
    expect(second.mixHash).not.toBe(RANDAO);
    expect([first, second].map(({ timestamp }) => Number(timestamp) - START)).toEqual([7, 14]);
    await expect(node.send(signOrdinary(13, { ...payment, gasLimit: 2_000_000n }))).rejects.toThrow(
      "exceeds block gas limit",
    );
    expect(await node.rpc("anvil_removeBlockTimestampInterval")).toBe(true);
    await node.devnet.mine();
    expect(Number((await block()).timestamp) - START).toBe(14);
  });

  it("change the price floor, and keep the base fee at 0", async () => {
    await node.rpc("anvil_setMinGasPrice", "0x7");
    expect(await node.rpc("eth_gasPrice")).toBe("0x7");
    await expect(node.send(signOrdinary(13, { ...payment, gasPrice: 6n }))).rejects.toThrow(
      "the minimum is 7",
    );
    await node.sendAndMine(signOrdinary(13, { ...payment, gasPrice: 7n }));
    expect(await node.rpc("eth_getBalance", STRANGER, "latest")).toBe("0x5");
    expect(await node.rpc("hardhat_setNextBlockBaseFeePerGas", "0x0")).toBeNull();
    await expect(node.rpc("hardhat_setNextBlockBaseFeePerGas", "0x1")).rejects.toThrow("is always 0");
    expect(await node.rpc("anvil_setLoggingEnabled", false)).toBeNull();
  });

  it("are gone after a reset, like every block, snapshot and waiting transaction", async () => {
    const genesis = await block("0x0");
    const raws = [signOrdinary(13, payment), wrap(signInner(0))];
    await node.sendAndMine(...raws);
    const after = await block();
    const snapshot = await node.rpc<Hex>("evm_snapshot");
    await node.rpc("anvil_setMinGasPrice", "0x7");
    await node.rpc("evm_increaseTime", 1_000);
    await node.send(wrap(signInner(1), { waiver: 11 }));

    await expect(node.rpc("hardhat_reset", { forking: { jsonRpcUrl: "http://x" } })).rejects.toThrow("fork");
    expect(await node.rpc("hardhat_reset", { forking: {} })).toBe(true);
    expect(await block()).toEqual(genesis);
    expect(await node.rpc("evm_revert", snapshot)).toBe(false);
    expect(await node.rpc("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
    expect(await node.rpc("eth_gasPrice")).toBe("0x3b9aca00");
    expect(await node.rpc("eth_getTransactionByHash", hashOf(raws[0] as Hex))).toBeNull();
    // The same transactions on the same genesis give the same state.
    await node.sendAndMine(...raws);
    expect(await block()).toEqual(after);
  });
});

describe("waiting transactions", () => {
  it("are dropped by hash, by sender, or all", async () => {
    const [first, second, third] = [
      signOrdinary(13, payment),
      wrap(signInner(0)),
      wrap(signInner(1), { waiver: 11 }),
    ];
    for (const raw of [first, second, third]) await node.send(raw);
    expect(await node.rpc("hardhat_dropTransaction", hashOf(first))).toBe(true);
    expect(await node.rpc("hardhat_dropTransaction", hashOf(first))).toBe(false);
    expect(await node.rpc("anvil_dropTransaction", hashOf(second))).toBe(hashOf(second));
    await node.send(second);
    await node.rpc("anvil_removePoolTransactions", addressOf(10));
    expect(await node.rpc("txpool_status")).toEqual({ pending: "0x1", queued: "0x0" });
    await node.rpc("anvil_dropAllTransactions");
    expect(await node.rpc("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
  });
});

describe("helpers of hardhat, viem and OpenZeppelin", () => {
  it("take the node for one for development", async () => {
    const version = await node.rpc<string>("web3_clientVersion");
    expect(version).toMatch(/^anvil\/gas-waiver-devnet\/\d+\.\d+\.\d+\/\w+$/);
    const { hash, number } = await block();
    const chain = { clientVersion: version, chainId: 2201, instanceId: hash, latestBlockHash: hash };
    expect(await node.rpc("hardhat_metadata")).toMatchObject({ ...chain, latestBlockNumber: Number(number) });
    expect(await node.rpc("anvil_nodeInfo")).toMatchObject({
      currentBlockHash: hash,
      environment: { chainId: 2201, baseFee: "0x0", gasPrice: "0x3b9aca00" },
    });
  });

  it("fund any account, and send for it without impersonating it first", async () => {
    await node.rpc("anvil_addBalance", STRANGER, "0xde0b6b3a7640000");
    await node.rpc("anvil_addBalance", STRANGER, "0x1");
    const hash = await node.rpc("eth_sendUnsignedTransaction", {
      from: STRANGER,
      to: addressOf(0),
      value: "0x1",
    });
    await node.devnet.mine();
    expect(await node.rpc("eth_getTransactionByHash", hash)).toMatchObject({ from: STRANGER });
    expect(await node.balance(0)).toBe(1n);
  });
});
