import {
  bytesToHex,
  encodeRlp,
  type Hex,
  hexToBytes,
  MARKER_ADDRESS,
  signTransaction,
} from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { BYTECODE, place, slotOf, wordOf } from "../../test/support/bytecode.js";
import { addressOf, hashOf, key, signInner, signOrdinary, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";
import { toQuantity } from "./format.js";

const node = useTestNode();

const user = addressOf(0);
const stranger: Hex = `0x${"77".repeat(20)}`;
const word = (value: bigint | Hex) => bytesToHex(wordOf(value));
const balanceOf = (account: Hex) => `0x70a08231${account.slice(2).padStart(64, "0")}`;
const call = (request: object, ...otherParams: unknown[]) =>
  node.rpc<Hex>("eth_call", request, ...otherParams);
/** Code that returns its storage slot 0, its balance, or the gas that is left. */
const READS = { slot: "0x5f545f5260205ff3", balance: "0x475f5260205ff3", gas: "0x5a5f5260205ff3" };
/** Code that returns NUMBER, TIMESTAMP, COINBASE and PREVRANDAO. */
const ENVIRONMENT = "0x435f5242602052416040524460605260805ff3";

describe("eth_call", () => {
  it("reads the state after the requested block", async () => {
    await node.sendAndMine(wrap(signInner(0)));
    const request = { to: TEST_TOKEN_ADDRESS, data: balanceOf(user) };
    expect(BigInt(await call(request, "0x0"))).toBe(10n ** 24n);
    expect(BigInt(await call(request, "latest"))).toBe(10n ** 24n - 10n ** 18n);
    const { hash } = await node.rpc<{ hash: Hex }>("eth_getBlockByNumber", "0x0");
    expect(BigInt(await call(request, { blockHash: hash }))).toBe(10n ** 24n);
    for (const tag of ["pending", "safe", "finalized", undefined]) {
      expect(BigInt(await call(request, tag))).toBe(10n ** 24n - 10n ** 18n);
    }
  });

  it("applies overrides of balance, nonce, code and storage to the call alone", async () => {
    const state = { [word(0n)]: word(5n) };
    const codes = { [stranger]: { code: READS.slot, state } };
    expect(await call({ to: stranger }, "latest", codes)).toBe(word(5n));
    expect(
      await call({ to: stranger }, "latest", { [stranger]: { code: READS.balance, balance: "0x9" } }),
    ).toBe(word(9n));
    // The address of a creation depends on the nonce. The code returns ADDRESS.
    const create = { from: user, data: "0x305f5260205ff3" };
    const [one, two] = [await call(create), await call(create, "latest", { [user]: { nonce: "0x7" } })];
    expect(one).not.toBe(two);
    expect(await node.rpc("eth_getCode", stranger, "latest")).toBe("0x");
  });

  it("replaces the whole storage by state, and some of it by stateDiff", async () => {
    const recorder = await place(node, 1, BYTECODE.recorder);
    await node.sendAndMine(signOrdinary(13, { to: hexToBytes(recorder), data: new Uint8Array() }));
    expect(await slotOf(node, recorder, 0)).toBe(BigInt(addressOf(13)));
    const read = { code: READS.slot };
    const other = { [word(1n)]: word(1n) };
    expect(await call({ to: recorder }, "latest", { [recorder]: { ...read, stateDiff: other } })).toBe(
      word(addressOf(13)),
    );
    expect(await call({ to: recorder }, "latest", { [recorder]: { ...read, state: other } })).toBe(word(0n));
  });

  it("refuses invalid overrides", async () => {
    for (const overrides of [
      5,
      [],
      { nobody: {} },
      { [stranger]: 5 },
      { [stranger]: { colour: "red" } },
      { [stranger]: { balance: "lots" } },
      { [stranger]: { state: {}, stateDiff: {} } },
      { [stranger]: { state: { "0x1": word(1n) } } },
      { [stranger]: { state: { [word(1n)]: "0x1" } } },
    ]) {
      await expect(call({ to: stranger }, "latest", overrides)).rejects.toMatchObject({ code: -32602 });
    }
    await expect(call({ to: stranger }, "latest", {}, { weather: "0x1" })).rejects.toMatchObject({
      code: -32602,
    });
  });

  it("applies block overrides", async () => {
    const environment = await call(
      { to: stranger },
      "latest",
      { [stranger]: { code: ENVIRONMENT } },
      { number: "0x10", time: "0x20", feeRecipient: user, prevRandao: word(3n) },
    );
    expect(environment).toBe(
      `0x${[16n, 32n, BigInt(user), 3n].map((value) => word(value).slice(2)).join("")}`,
    );
  });

  it("counts the intrinsic gas against the gas limit, as a transaction does", async () => {
    const transfer = { from: user, to: TEST_TOKEN_ADDRESS, data: bytesToHex(signInner(0).data) };
    const needed = BigInt(await node.rpc<Hex>("eth_estimateGas", { ...transfer, gasPrice: "0x0" }));
    const withGas = (gas: bigint) => call({ ...transfer, gas: `0x${gas.toString(16)}` });
    expect(BigInt(await withGas(needed))).toBe(1n);
    await expect(withGas(needed - 1n)).rejects.toThrow("out of gas");
    await expect(withGas(21_000n)).rejects.toThrow("intrinsic gas too low: have 21000, want 22");
    expect(BigInt(await call(transfer))).toBe(1n);
  });

  it("gives a call no more gas than a node does, so that an endless loop ends with an error", async () => {
    const gasAt = async (gas: bigint) =>
      BigInt(
        await call({ to: stranger, gas: toQuantity(gas) }, "latest", { [stranger]: { code: READS.gas } }),
      );
    expect(await gasAt(10n ** 9n)).toBe(await gasAt(50_000_000n));
    expect(await gasAt(40_000_000n)).toBe((await gasAt(50_000_000n)) - 10_000_000n);
    const endless = { to: stranger, gas: toQuantity(1_000_000n) };
    await expect(call(endless, "latest", { [stranger]: { code: BYTECODE.burner } })).rejects.toMatchObject({
      code: -32000,
      message: "execution failed: out of gas",
    });
  });
});

describe("eth_estimateGas", () => {
  const estimate = async (request: object, overrides?: object) =>
    BigInt(await node.rpc<Hex>("eth_estimateGas", request, "latest", overrides));

  it("needs a balance only with a gas price", async () => {
    const request = { from: user, to: addressOf(1) };
    expect(await estimate({ ...request, gasPrice: "0x0" })).toBe(21_000n);
    await expect(estimate({ ...request, gasPrice: "0x1" })).rejects.toThrow(
      "gas required exceeds allowance (0)",
    );
    expect(await estimate({ ...request, gasPrice: "0x1" }, { [user]: { balance: "0x5208" } })).toBe(21_000n);
  });

  it("of a wrapper is exactly what the validators ask for, in both forms of a typed inner (D1, D7)", async () => {
    const legacy = signInner(0).raw;
    const typed = signTransaction(
      {
        ...signInner(0),
        type: "eip1559",
        maxFeePerGas: 0n,
        maxPriorityFeePerGas: 0n,
        accessList: [],
        chainId: 2201n,
      },
      key(0),
    );
    for (const data of [legacy, typed.raw, encodeRlp(typed.raw)]) {
      const gasLimit = await estimate({
        from: addressOf(10),
        to: bytesToHex(MARKER_ADDRESS),
        data: bytesToHex(data),
      });
      const wrapper = (gas: bigint) => wrap(signInner(0), { data, gasLimit: gas });
      await expect(node.send(wrapper(gasLimit - 1n))).rejects.toMatchObject({
        reason: "WRAPPER_GAS_LIMIT_TOO_LOW",
      });
      const undo = await node.rpc<Hex>("evm_snapshot");
      await node.sendAndMine(wrapper(gasLimit));
      expect((await node.receipt(hashOf(wrapper(gasLimit)))).status).toBe("0x1");
      await node.rpc("evm_revert", undo);
    }
  });

  it("of a wrapper without a transaction in it names the check that fails", async () => {
    const request = { from: addressOf(10), to: bytesToHex(MARKER_ADDRESS), data: "0x12" };
    await expect(estimate(request)).rejects.toMatchObject({
      data: { reason: "MALFORMED_RLP", check: "inner decodes" },
    });
    const wide = bytesToHex(signInner(0, { gasLimit: 2n ** 63n }).raw);
    await expect(estimate({ ...request, data: wide })).rejects.toThrow("gas required exceeds allowance");
  });

  it("includes the access list", async () => {
    const recorder = await place(node, 1, BYTECODE.recorder);
    const request = { from: addressOf(13), to: recorder };
    const { accessList, gasUsed } = await node.rpc<{ accessList: object[]; gasUsed: Hex }>(
      "eth_createAccessList",
      request,
    );
    expect(accessList).toEqual([{ address: recorder, storageKeys: [word(0n), word(1n), word(2n)] }]);
    // The estimate exceeds the gas used, because SSTORE demands some remaining gas (EIP-2200).
    expect(await estimate({ ...request, accessList })).toBeGreaterThan(BigInt(gasUsed));
    const hash = await node.rpc<Hex>("eth_sendTransaction", { ...request, accessList });
    await node.devnet.mine();
    expect(await node.receipt(hash)).toMatchObject({ status: "0x1", gasUsed, type: "0x2" });
  });
});

describe("eth_createAccessList", () => {
  it("reports that the call failed", async () => {
    const reverter = await place(node, 1, BYTECODE.reverter);
    expect(await node.rpc("eth_createAccessList", { from: user, to: reverter })).toMatchObject({
      accessList: [],
      error: "execution reverted",
    });
  });
});
