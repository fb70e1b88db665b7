import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import {
  addressOf,
  createTestNode,
  hashOf,
  signInner,
  signOrdinary,
  wrap,
} from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { createDevnet } from "../createDevnet.js";

const START = 1_700_000_000;
let now: number;
beforeEach(() => {
  now = START * 1_000;
});
const node = useTestNode(() => ({ now: () => now }));

const number = async () => Number(await node.rpc<Hex>("eth_blockNumber"));
const time = async () =>
  Number((await node.rpc<{ timestamp: Hex }>("eth_getBlockByNumber", "latest")).timestamp);
const toUser = { to: hexToBytes(addressOf(0)), data: new Uint8Array(), value: 5n };

describe("mining", () => {
  it("makes one block or many on request", async () => {
    expect(await node.rpc("evm_mine")).toBe("0x0");
    await node.rpc("evm_mine", { blocks: 3 });
    await node.rpc("anvil_mine", "0x2");
    await node.rpc("hardhat_mine", "0x2", "0xa");
    expect(await number()).toBe(8);
    expect(await time()).toBe(START + 10);
    await expect(node.rpc("evm_mine", { blocks: 100_001 })).rejects.toMatchObject({ code: -32602 });
  });

  it("follows each request while automine is on", async () => {
    await node.rpc("evm_setAutomine", true);
    expect(await node.rpc("anvil_getAutomine")).toBe(true);
    await node.send(signOrdinary(13, toUser));
    expect(await number()).toBe(1);
    await node.rpc("evm_setAutomine", false);
    await node.send(signOrdinary(13, { ...toUser, nonce: 1n }));
    expect(await number()).toBe(1);
    await expect(node.rpc("evm_setAutomine", 1)).rejects.toMatchObject({ code: -32602 });
  });

  it("makes blocks at an interval in seconds, until it is stopped", async () => {
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
  it("can be set forward, and continues from there", async () => {
    expect(await node.rpc("evm_increaseTime", 100)).toBe(100);
    await node.devnet.mine();
    expect(await time()).toBe(START + 100);
    expect(await node.rpc("evm_increaseTime", "0x10")).toBe(116);
    now += 4_000;
    await node.devnet.mine();
    expect(await time()).toBe(START + 120);
  });

  it("of the next block can be set exactly", async () => {
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
  it("restore blocks, state, pool and clock, once", async () => {
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

  it("are discarded when an earlier one is used, and reach back further than the kept states", async () => {
    const short = await createTestNode({ historyBlocks: 2 });
    const first = await short.rpc("evm_snapshot");
    await short.sendAndMine(wrap(signInner(0)));
    const second = await short.rpc("evm_snapshot");
    await short.rpc("evm_mine", { blocks: 10 });
    expect(await short.rpc("evm_revert", first)).toBe(true);
    expect(await short.rpc("evm_revert", second)).toBe(false);
    expect(await short.rpc("evm_revert", "0x99")).toBe(false);
    expect(await short.rpc("eth_blockNumber")).toBe("0x0");
    // The same transaction leads to the same state again.
    await short.sendAndMine(wrap(signInner(0)));
    const root = (await short.rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest")).stateRoot;
    await node.sendAndMine(wrap(signInner(0)));
    expect((await node.rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest")).stateRoot).toBe(root);
    await short.devnet.close();
  });
});

it("a devnet that mines on demand makes a block after a transaction, and none after a request without one", async () => {
  const devnet = await createDevnet({ blockTimeMs: 0 });
  await devnet.request({ method: "eth_sendRawTransaction", params: [wrap(signInner(0))] });
  await devnet.request({ method: "anvil_setBalance", params: [addressOf(0), "0x1"] });
  expect(await devnet.request({ method: "eth_blockNumber" })).toBe("0x1");
  await devnet.close();
});
