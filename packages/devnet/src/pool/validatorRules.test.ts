import {
  bytesToHex,
  decodeTransaction,
  encodeTransaction,
  type Hex,
  hexToBytes,
  MARKER_ADDRESS,
  type SignedTransaction,
  signTransaction,
} from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { addressOf, key, signInner, type TestNode, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { DEVNET_CHAIN_ID, TEST_TOKEN } from "../presets/constants.js";
import { toRpcError } from "../rpc/errors.js";

/** Sends and expects a refusal without any change. @returns its reason and its message. */
async function refusal(node: TestNode, raw: Hex): Promise<{ reason: unknown; message: string }> {
  const before = await stateOf(node);
  const error = await node.send(raw).then(
    () => undefined,
    (thrown: unknown) => toRpcError(thrown),
  );
  expect(error?.code).toBe(-32000);
  await node.devnet.mine();
  expect(await stateOf(node)).toEqual(before);
  const { reason } = (error?.data ?? {}) as { reason?: unknown };
  return { reason, message: error?.message ?? "" };
}

async function stateOf(node: TestNode) {
  const block = await node.rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest");
  return {
    stateRoot: block.stateRoot,
    waiver: await node.nonce(10, "pending"),
    user: await node.nonce(0, "pending"),
  };
}

function highS(tx: SignedTransaction): Hex {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = order - BigInt(bytesToHex(tx.signature.compact.subarray(32)));
  const compact = Uint8Array.from(tx.signature.compact);
  compact.set(hexToBytes(`0x${s.toString(16).padStart(64, "0")}`), 32);
  return bytesToHex(encodeTransaction(tx, { compact, yParity: tx.signature.yParity === 0 ? 1 : 0 }));
}

describe("a wrapper is refused, changes no state and uses no nonce (D7), when", () => {
  const node = useTestNode();

  const inner = signInner(0);
  const cases: [name: string, raw: () => Hex, reason: string, expectedMessage: string][] = [
    [
      "it is not canonical",
      () => highS(decodeTransaction(hexToBytes(wrap(inner)))),
      "WRAPPER_INVALID",
      "s is above half",
    ],
    [
      "it is typed and has a fee",
      () =>
        bytesToHex(
          signTransaction(
            {
              type: "eip1559",
              chainId: DEVNET_CHAIN_ID,
              nonce: 0n,
              maxFeePerGas: 7n,
              maxPriorityFeePerGas: 0n,
              gasLimit: 200_000n,
              to: MARKER_ADDRESS,
              value: 0n,
              data: inner.raw,
              accessList: [],
            },
            key(10),
          ).raw,
        ),
      "WRAPPER_NON_ZERO_GAS_PRICE",
      "7 wei",
    ],
    ["it is for another chain", () => wrap(inner, { chainId: 988n }), "WRAPPER_WRONG_CHAIN_ID", "988"],
    ["its sender is not a waiver", () => wrap(inner, { waiver: 12 }), "WAIVER_NOT_REGISTERED", addressOf(12)],
    ["its gas price is not 0", () => wrap(inner, { gasPrice: 5n }), "WRAPPER_NON_ZERO_GAS_PRICE", "5 wei"],
    ["its value is not 0", () => wrap(inner, { value: 3n }), "WRAPPER_NON_ZERO_VALUE", "3 wei"],
    [
      "its data is not a transaction",
      () => wrap(inner, { data: Uint8Array.of(1, 2) }),
      "MALFORMED_RLP",
      "inner decodes",
    ],
    [
      "its data is empty",
      () => wrap(inner, { data: new Uint8Array() }),
      "EMPTY_TRANSACTION",
      "inner decodes",
    ],
    [
      "the inner's gas price is not 0",
      () => wrap(signInner(0, { gasPrice: 1n })),
      "NON_ZERO_GAS_PRICE",
      "1 wei",
    ],
    [
      "the inner is for another chain",
      () => wrap(signInner(0, { chainId: 1n }), { chainId: 2201n }),
      "WRONG_CHAIN_ID",
      "chain 1",
    ],
    [
      "the target is not allowed",
      () => wrap(signInner(0, { to: hexToBytes(addressOf(5)) })),
      "TARGET_NOT_ALLOWED",
      addressOf(5),
    ],
    [
      "the selector is not allowed",
      () => wrap(signInner(0, { data: hexToBytes("0x70a08231") })),
      "SELECTOR_NOT_ALLOWED",
      "0x70a08231",
    ],
    [
      "there is no selector",
      () => wrap(signInner(0, { data: hexToBytes("0xa9059c") })),
      "SELECTOR_NOT_ALLOWED",
      "3 byte",
    ],
    ["the inner creates a contract", () => wrap(signInner(0, { to: undefined })), "CONTRACT_CREATION", "to"],
    [
      "the inner is a wrapper",
      () => wrap(signInner(0, { to: MARKER_ADDRESS })),
      "TARGET_IS_MARKER",
      "marker",
    ],
    [
      "the sender lacks the value",
      () => wrap(signInner(0, { value: 8n })),
      "INSUFFICIENT_BALANCE",
      "carries 8",
    ],
    [
      "its gas limit does not cover the inner's",
      () => wrap(inner, { gasLimit: 100_000n }),
      "WRAPPER_GAS_LIMIT_TOO_LOW",
      "100000",
    ],
    [
      "the inner's gas limit does not cover its intrinsic gas",
      () => wrap(signInner(0, { gasLimit: 21_000n })),
      "GAS_LIMIT_TOO_LOW",
      "21000",
    ],
  ];
  for (const [name, raw, reason, expectedMessage] of cases) {
    it(name, async () => {
      const refused = await refusal(node, raw());
      expect(refused.reason).toBe(reason);
      expect(refused.message).toContain(expectedMessage);
    });
  }

  it("a nonce is used", async () => {
    await node.sendAndMine(wrap(inner));
    expect(await refusal(node, wrap(signInner(0, { nonce: 1n })))).toMatchObject({
      reason: "WRAPPER_NONCE_TOO_LOW",
    });
    expect(
      await refusal(node, wrap(signInner(0, { value: 0n, gasLimit: 90_000n }), { nonce: 1n })),
    ).toMatchObject({
      reason: "NONCE_TOO_LOW",
    });
  });

  it("its gas limit is above the block's", async () => {
    expect(await refusal(node, wrap(inner, { gasLimit: 1_000_000_001n }))).toMatchObject({
      reason: "GAS_LIMIT_ABOVE_BLOCK",
    });
  });

  it("several checks fail: the first in the order of D7 is named", async () => {
    const bad = signInner(0, { gasPrice: 1n, to: hexToBytes(addressOf(5)) });
    expect((await refusal(node, wrap(bad, { waiver: 12, value: 1n, gasPrice: 1n }))).reason).toBe(
      "WAIVER_NOT_REGISTERED",
    );
    expect((await refusal(node, wrap(bad, { value: 1n, gasPrice: 1n }))).reason).toBe(
      "WRAPPER_NON_ZERO_GAS_PRICE",
    );
    expect((await refusal(node, wrap(bad, { value: 1n }))).reason).toBe("WRAPPER_NON_ZERO_VALUE");
    expect((await refusal(node, wrap(bad))).reason).toBe("NON_ZERO_GAS_PRICE");
    expect(
      (await refusal(node, wrap(signInner(0, { to: TEST_TOKEN, data: new Uint8Array(), value: 1n })))).reason,
    ).toBe("SELECTOR_NOT_ALLOWED");
  });
});
