import { bytesToHex } from "@gas-waiver/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addressOf, createTestNode, hashOf, signInner, type TestNode, wrap } from "./testing/node.js";

describe("a wrapped transaction that keeps the rules", () => {
  let node: TestNode;
  beforeEach(async () => {
    node = await createTestNode();
  });
  afterEach(() => node.devnet.close());

  it("runs as the user, at price 0, and uses both nonces (D9)", async () => {
    const inner = signInner(0);
    const before = await node.tokens(9);
    await node.sendAndMine(wrap(inner));
    expect(await node.tokens(9)).toBe(before + 10n ** 18n);
    expect(await node.nonce(0)).toBe(1n);
    expect(await node.nonce(10)).toBe(1n);
    const receipt = await node.receipt(hashOf(bytesToHex(inner.raw)));
    expect(receipt).toMatchObject({ status: "0x1", from: addressOf(0), effectiveGasPrice: "0x0" });
    expect(receipt.logs).toHaveLength(1);
    expect(node.devnet.drops()).toEqual([]);
  });
});
