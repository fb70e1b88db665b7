import type { Hex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { BYTECODE, place, slotOf } from "../../test/support/bytecode.js";
import { addressOf, hashOf } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";

const node = useTestNode();

describe("eth_sendTransaction", () => {
  it("sends for the devnet's own accounts, signed with their keys, at the minimum price", async () => {
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

  it("sends for a contract while it is impersonated, and only then", async () => {
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

  it("gives concurrent transactions different nonces", async () => {
    const send = () =>
      node.rpc<Hex>("eth_sendTransaction", { from: addressOf(13), to: addressOf(0), value: "0x1" });
    const results = await Promise.all(Array.from({ length: 5 }, send));
    await node.devnet.mine();
    for (const hash of results) expect(await node.receipt(hash)).toMatchObject({ status: "0x1" });
    expect(await node.balance(0)).toBe(5n);
  });

  it("enforces the minimum price and the balance, and refuses wrappers", async () => {
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
