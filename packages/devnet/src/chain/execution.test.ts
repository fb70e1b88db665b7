import {
  bytesToHex,
  decodeTransaction,
  type Hex,
  hexToBytes,
  intrinsicGas,
  type SignedTransaction,
} from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { signDelegation } from "../../test/support/delegation.js";
import {
  addressOf,
  hashOf,
  signInner,
  signOrdinary,
  transferData,
  wrap,
} from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { common } from "../evm/common.js";
import { DEVNET_CHAIN_ID, TEST_TOKEN, TEST_TOKEN_ADDRESS } from "../presets/constants.js";

const TOKEN = 10n ** 18n;
const innerHash = (inner: SignedTransaction) => hashOf(bytesToHex(inner.raw));

describe("a wrapped transaction in a block (D9, D10)", () => {
  const node = useTestNode();

  it("runs as the user at price 0 and uses both nonces", async () => {
    const inner = signInner(0);
    const before = await node.tokens(9);
    await node.sendAndMine(wrap(inner));
    expect(await node.tokens(9)).toBe(before + TOKEN);
    expect(await node.balance(0)).toBe(0n);
    expect([await node.nonce(0), await node.nonce(10)]).toEqual([1n, 1n]);
    expect(node.devnet.drops()).toEqual([]);
  });

  it("appears in the block as two transactions: the wrapper, then its inner", async () => {
    const inner = signInner(0);
    const wrapper = wrap(inner);
    await node.sendAndMine(wrapper);
    const block = await node.rpc<{ transactions: Hex[] }>("eth_getBlockByNumber", "latest");
    expect(block.transactions).toEqual([hashOf(wrapper), innerHash(inner)]);

    const wrapperReceipt = await node.receipt(hashOf(wrapper));
    const overhead = intrinsicGas(decodeTransaction(hexToBytes(wrapper)));
    expect(wrapperReceipt).toMatchObject({
      status: "0x1",
      from: addressOf(10),
      effectiveGasPrice: "0x0",
      logs: [],
    });
    expect(BigInt(wrapperReceipt.gasUsed)).toBe(overhead);

    const innerReceipt = await node.receipt(innerHash(inner));
    expect(innerReceipt).toMatchObject({
      status: "0x1",
      from: addressOf(0),
      to: bytesToHex(TEST_TOKEN),
      effectiveGasPrice: "0x0",
      transactionIndex: "0x1",
    });
    expect(BigInt(innerReceipt.cumulativeGasUsed)).toBe(overhead + BigInt(innerReceipt.gasUsed));
  });

  it("shows every log once, under the inner's hash", async () => {
    const inners = [signInner(0), signInner(1), signInner(2)];
    await node.sendAndMine(...inners.map((inner, i) => wrap(inner, { nonce: BigInt(i) })));
    const logs = await node.rpc<{ transactionHash: Hex; logIndex: Hex }[]>("eth_getLogs", {
      fromBlock: "earliest",
    });
    expect(logs.map((log) => log.transactionHash)).toEqual(inners.map(innerHash));
    expect(logs.map((log) => log.logIndex)).toEqual(["0x0", "0x1", "0x2"]);
  });

  it("that reverts is included with status 0 in both receipts and uses both nonces", async () => {
    const inner = signInner(0, { data: transferData(addressOf(9), 10n ** 30n) });
    const wrapper = wrap(inner);
    await node.sendAndMine(wrapper);
    expect(await node.receipt(innerHash(inner))).toMatchObject({ status: "0x0", logs: [] });
    expect(await node.receipt(hashOf(wrapper))).toMatchObject({ status: "0x0", logs: [] });
    expect([await node.nonce(0), await node.nonce(10)]).toEqual([1n, 1n]);
  });

  it("that runs out of gas uses its whole limit", async () => {
    const inner = signInner(0, { gasLimit: 30_000n });
    await node.sendAndMine(wrap(inner));
    expect(await node.receipt(innerHash(inner))).toMatchObject({ status: "0x0", gasUsed: "0x7530" });
    expect([await node.nonce(0), await node.nonce(10)]).toEqual([1n, 1n]);
  });

  it("that reverts leaves its value with the user", async () => {
    await node.sendAndMine(
      signOrdinary(13, { to: hexToBytes(addressOf(0)), value: 100n, data: new Uint8Array() }),
    );
    // The token takes no value, so the call reverts and the value stays with the user.
    const inner = signInner(0, { value: 60n });
    await node.sendAndMine(wrap(inner));
    expect(await node.receipt(innerHash(inner))).toMatchObject({ status: "0x0" });
    expect(await node.balance(0)).toBe(100n);
  });

  it("may be of type EIP-2930, or EIP-1559 with both fees 0, with an access list", async () => {
    for (const [i, type] of (["eip2930", "eip1559"] as const).entries()) {
      const fees = type === "eip2930" ? { gasPrice: 0n } : { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };
      const accessList = [{ address: TEST_TOKEN, storageKeys: [new Uint8Array(32)] }];
      const inner = signInner(i, { ...({ type, accessList, ...fees } as object), chainId: DEVNET_CHAIN_ID });
      await node.sendAndMine(wrap(inner, { nonce: BigInt(i) }));
      expect(await node.receipt(innerHash(inner))).toMatchObject({ status: "0x1", effectiveGasPrice: "0x0" });
    }
  });

  it("of one user runs in nonce order, whatever the order of arrival and the waiver", async () => {
    const inners = [0n, 1n, 2n].map((nonce) => signInner(0, { nonce }));
    const [first, second, third] = inners.map((inner, i) =>
      wrap(inner, i === 1 ? { waiver: 11 } : { nonce: BigInt(i / 2) }),
    );
    if (!first || !second || !third) throw new Error("there are fewer than three wrappers");
    await node.sendAndMine(third, second, first);
    for (const inner of inners) expect(await node.receipt(innerHash(inner))).toMatchObject({ status: "0x1" });
  });

  it("that was sent twice in two wrappers runs once, and the second wrapper is dropped (D8)", async () => {
    const inner = signInner(0);
    const late = wrap(inner, { nonce: 1n });
    await node.sendAndMine(wrap(inner), late);
    expect(await node.receipt(innerHash(inner))).toMatchObject({ status: "0x1" });
    expect(await node.receipt(hashOf(late))).toBeNull();
    expect(node.devnet.drops()).toMatchObject([{ hash: hashOf(late), reason: "NONCE_TOO_LOW" }]);
    expect([await node.nonce(0), await node.nonce(10)]).toEqual([1n, 1n]);
  });

  it("whose user's nonce never comes up holds up its waiver for 20 blocks, then is dropped", async () => {
    const early = wrap(signInner(0, { nonce: 5n }));
    const behind = wrap(signInner(1), { nonce: 1n });
    await node.sendAndMine(early, behind);
    for (let i = 0; i < 19; i++) await node.devnet.mine();
    expect(node.devnet.drops()).toEqual([]);
    await node.devnet.mine();
    expect(node.devnet.drops()).toMatchObject([{ hash: hashOf(early), reason: "NONCE_GAP" }]);
    await node.sendAndMine(wrap(signInner(2)));
    expect(await node.receipt(hashOf(behind))).toMatchObject({ status: "0x1" });
  });

  it("may be a waiver's own, which uses the nonce after its wrapper's", async () => {
    const inner = signInner(10, { nonce: 1n, data: transferData(addressOf(9), 0n) });
    await node.sendAndMine(wrap(inner));
    expect(await node.receipt(innerHash(inner))).toMatchObject({ status: "0x1", from: addressOf(10) });
    expect(await node.nonce(10)).toBe(2n);
    expect(await node.nonce(10, "pending")).toBe(2n);
  });

  it("runs for a user who delegated to a contract (EIP-7702)", async () => {
    const delegation = await signDelegation({ authority: 0, contract: TEST_TOKEN_ADDRESS, to: 13 });
    await node.sendAndMine(delegation);
    expect(await node.receipt(hashOf(delegation))).toMatchObject({ status: "0x1", type: "0x4" });
    expect(await node.rpc("eth_getTransactionByHash", hashOf(delegation))).toMatchObject({
      authorizationList: [{ address: TEST_TOKEN_ADDRESS.toLowerCase(), nonce: "0x0", chainId: "0x899" }],
    });
    const code = await node.rpc("eth_getCode", addressOf(0), "latest");
    expect(code).toBe(`0xef0100${TEST_TOKEN_ADDRESS.slice(2).toLowerCase()}`);
    expect(await node.nonce(0)).toBe(1n);
    const inner = signInner(0, { nonce: 1n });
    await node.sendAndMine(wrap(inner));
    expect(await node.receipt(innerHash(inner))).toMatchObject({ status: "0x1", from: addressOf(0) });
  });

  it("leaves no listener of an EVM behind after its block", async () => {
    await node.sendAndMine(wrap(signInner(0)));
    expect(common.events.listenerCount("hardforkChanged")).toBe(0);
  });
});
