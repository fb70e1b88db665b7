import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { BYTECODE, place, slotOf, wordOf } from "../../test/support/bytecode.js";
import { addressOf, createTestNode, signInner, type TestNode, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";

const now = () => 1_700_000_000_000;
const node = useTestNode(() => ({ now }));

describe("changes that no transaction makes", () => {
  it("are read at once, and the next block's state root commits to them", async () => {
    await node.rpc("anvil_setBalance", addressOf(0), "0x64");
    await node.rpc("anvil_setNonce", addressOf(0), "0x5");
    expect(await node.balance(0)).toBe(100n);
    expect(await node.nonce(0)).toBe(5n);
    await node.devnet.mine();
    const root = async (rpc: TestNode["rpc"]) =>
      (await rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest")).stateRoot;

    // The same patches on another chain lead to the same state root.
    const other = await createTestNode({ now });
    await other.devnet.mine();
    expect(await root(node.rpc)).not.toBe(await root(other.rpc));
    await other.rpc("anvil_setNonce", addressOf(0), "0x5");
    await other.rpc("anvil_setBalance", addressOf(0), "0x64");
    await other.devnet.mine();
    expect(await root(node.rpc)).toBe(await root(other.rpc));
    await other.devnet.close();
  });

  it("are not part of the previous block's state after the next block", async () => {
    await node.devnet.mine();
    await node.rpc("anvil_setBalance", addressOf(0), "0x64");
    const balance = (tag: string) => node.rpc("eth_getBalance", addressOf(0), tag);
    expect(await balance("0x1")).toBe("0x64");
    await node.devnet.mine();
    expect([await balance("0x1"), await balance("0x2")]).toEqual(["0x0", "0x64"]);
  });

  it("can be all accounts of another chain's dump, which replace those of their addresses", async () => {
    const recorder = await place(node, 1, BYTECODE.recorder);
    await node.rpc("anvil_setStorageAt", recorder, "0x5", bytesToHex(wordOf(0x1234n)));
    await node.sendAndMine(wrap(signInner(0)));
    const dump = await node.rpc<Hex>("anvil_dumpState");
    const root = async (rpc: TestNode["rpc"]) =>
      (await rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest")).stateRoot;

    const other = await createTestNode({ now });
    await other.rpc("anvil_setStorageAt", recorder, "0x6", bytesToHex(wordOf(1n)));
    expect(await other.rpc("anvil_loadState", dump)).toBe(true);
    expect([await other.nonce(0), await other.tokens(9)]).toEqual([1n, await node.tokens(9)]);
    expect(await slotOf(other, recorder, 5)).toBe(0x1234n);
    await other.devnet.mine();
    expect(await root(other.rpc)).toBe(await root(node.rpc));
    await expect(other.rpc("anvil_loadState", "0x00")).rejects.toMatchObject({ code: -32602 });
    await other.devnet.close();
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
