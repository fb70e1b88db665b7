import { bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { addressOf, hashOf, signInner, signOrdinary, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";

describe("ordinary transactions (D11)", () => {
  const node = useTestNode();

  const toUser = { to: hexToBytes(addressOf(0)), data: new Uint8Array(), value: 5n };

  it("are refused below the minimum gas price, inner transactions without a wrapper included", async () => {
    await expect(node.send(bytesToHex(signInner(0).raw))).rejects.toMatchObject({
      reason: "GAS_PRICE_BELOW_MINIMUM",
    });
    await expect(node.send(signOrdinary(13, { gasPrice: 999_999_999n }))).rejects.toMatchObject({
      reason: "GAS_PRICE_BELOW_MINIMUM",
      values: { gasPrice: "999999999", minGasPrice: "1000000000" },
    });
    const tip = { type: "eip1559", maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, accessList: [] };
    await expect(node.send(signOrdinary(13, tip as object))).rejects.toMatchObject({
      reason: "GAS_PRICE_BELOW_MINIMUM",
    });
  });

  it("are refused for their price also after a waiver has carried the same transaction", async () => {
    const inner = signInner(0);
    await node.sendAndMine(wrap(inner));
    await expect(node.send(bytesToHex(inner.raw))).rejects.toMatchObject({
      reason: "GAS_PRICE_BELOW_MINIMUM",
    });
  });

  it("pay the offered price for their gas", async () => {
    const before = await node.balance(13);
    const raw = signOrdinary(13, { ...toUser, gasPrice: 2n * 10n ** 9n });
    await node.sendAndMine(raw);
    expect(await node.receipt(hashOf(raw))).toMatchObject({ status: "0x1", effectiveGasPrice: "0x77359400" });
    expect(await node.balance(13)).toBe(before - 5n - 21_000n * 2n * 10n ** 9n);
    expect(await node.balance(0)).toBe(5n);
  });

  it("are refused if the sender cannot pay, if the gas limit is too low or above the block's, or on another chain", async () => {
    await expect(node.send(signOrdinary(0))).rejects.toMatchObject({ reason: "INSUFFICIENT_FUNDS" });
    await expect(node.send(signOrdinary(13, { gasLimit: 21_001n }))).rejects.toMatchObject({
      reason: "GAS_LIMIT_TOO_LOW",
    });
    await expect(node.send(signOrdinary(13, { gasLimit: 2_000_000_000n }))).rejects.toMatchObject({
      reason: "GAS_LIMIT_ABOVE_BLOCK",
    });
    await expect(node.send(signOrdinary(13, { chainId: 1n }))).rejects.toMatchObject({
      reason: "WRONG_CHAIN_ID",
    });
  });

  it("may create contracts", async () => {
    const raw = signOrdinary(13, { to: undefined, data: hexToBytes("0x6001600c60003960016000f300") });
    await node.sendAndMine(raw);
    const { contractAddress, status } = await node.receipt(hashOf(raw));
    expect(status).toBe("0x1");
    expect(await node.rpc("eth_getCode", contractAddress, "latest")).toBe("0x00");
  });
});

describe("the pool", () => {
  const node = useTestNode(() => ({ poolLimit: 3 }));

  it("refuses known bytes, in the pool or in a block", async () => {
    const raw = wrap(signInner(0));
    await node.send(raw);
    await expect(node.send(raw)).rejects.toMatchObject({ reason: "ALREADY_KNOWN" });
    await node.devnet.mine();
    await expect(node.send(raw)).rejects.toMatchObject({ reason: "ALREADY_KNOWN" });
  });

  it("does not replace a wrapper by another with the same nonce", async () => {
    await node.send(wrap(signInner(0)));
    const sent = node.send(wrap(signInner(1)));
    await expect(sent).rejects.toMatchObject({ reason: "REPLACEMENT_UNDERPRICED" });
    await expect(sent).rejects.toThrow("replacement transaction underpriced");
  });

  it("keeps transactions behind a nonce gap until the gap is filled", async () => {
    const late = wrap(signInner(1), { nonce: 1n });
    await node.sendAndMine(late);
    expect(await node.receipt(hashOf(late))).toBeNull();
    expect(await node.nonce(10, "pending")).toBe(0n);
    await node.send(wrap(signInner(0)));
    expect(await node.nonce(10, "pending")).toBe(2n);
    expect(await node.nonce(0, "pending")).toBe(1n);
    await node.devnet.mine();
    expect(await node.receipt(hashOf(late))).toMatchObject({ status: "0x1" });
  });

  it("shows waiting transactions, inners included", async () => {
    const inner = signInner(0);
    await node.send(wrap(inner));
    const waiting = { blockHash: null, blockNumber: null, transactionIndex: null };
    expect(await node.rpc("eth_getTransactionByHash", hashOf(wrap(inner)))).toMatchObject(waiting);
    expect(await node.rpc("eth_getTransactionByHash", hashOf(bytesToHex(inner.raw)))).toMatchObject({
      ...waiting,
      from: addressOf(0),
      gasPrice: "0x0",
    });
  });

  it("refuses transactions above its limit", async () => {
    for (let i = 0n; i < 3n; i++) await node.send(wrap(signInner(Number(i)), { nonce: i }));
    await expect(node.send(wrap(signInner(3), { nonce: 3n }))).rejects.toMatchObject({ reason: "POOL_FULL" });
  });
});
