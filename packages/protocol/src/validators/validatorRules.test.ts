import { describe, expect, it } from "vitest";
import {
  byUser,
  CHAIN_ID,
  eip1559,
  legacy,
  refusalOf,
  TOKEN,
  TRANSFER_SELECTOR,
  USER,
  USER_KEY,
  WAIVER,
  WAIVER_KEY,
} from "../../test/support/fixtures.js";
import { bytesToHex } from "../encoding/hex.js";
import { MARKER_ADDRESS } from "../network.js";
import type { AllowedTarget } from "../policy/AllowedTarget.js";
import { compilePolicy } from "../policy/policySets.js";
import { intrinsicGas } from "../transactions/intrinsicGas.js";
import {
  encodeTransaction,
  type SignedTransaction,
  signTransaction,
  type UnsignedTransaction,
} from "../transactions/SignedTransaction.js";
import { isWrapper } from "../transactions/WrapperTx.js";
import type { ChainView, NonceRule } from "./chainView.js";
import { assertWrapper, reassertWrapper } from "./validatorRules.js";

/** A chain in memory. */
interface Chain {
  waivers: readonly Uint8Array[];
  policy: readonly AllowedTarget[];
  nonces: Record<string, bigint>;
  balances: Record<string, bigint>;
  code: Record<string, Uint8Array>;
}

const GOOD: Chain = {
  waivers: [WAIVER],
  policy: [{ address: TOKEN, selectors: [TRANSFER_SELECTOR] }],
  nonces: { [bytesToHex(WAIVER)]: 5n, [bytesToHex(USER)]: 3n },
  balances: {},
  code: {},
};

const VERIFICATION_GAS = 12_345n;

function view(chain: Chain): ChainView {
  const waivers = new Set(chain.waivers.map(bytesToHex));
  const policy = compilePolicy(chain.policy);
  return {
    chainId: CHAIN_ID,
    verificationGas: VERIFICATION_GAS,
    isWaiver: (address) => waivers.has(bytesToHex(address)),
    isAllowed: (_waiver, to, data) => policy.check(to, data),
    nonceOf: async (address) => chain.nonces[bytesToHex(address)] ?? 0n,
    codeOf: async (address) => chain.code[bytesToHex(address)] ?? new Uint8Array(0),
    balanceOf: async (address) => chain.balances[bytesToHex(address)] ?? 0n,
  };
}

type Legacy = ReturnType<typeof legacy>;
const innerTx = (fields: Partial<Legacy> = {}) => legacy({ nonce: 3n, ...fields });
const wrapperTx = (data: Uint8Array, fields: Partial<Legacy> = {}) =>
  legacy({ nonce: 5n, to: MARKER_ADDRESS, gasLimit: 1_000_000n, data, ...fields });

/** A case, by its differences from a wrapper that keeps every rule. */
interface Case {
  inner?: Partial<Legacy>;
  wrapper?: Partial<Legacy>;
  chain?: Partial<Chain>;
  /** Replaces the inner's signed bytes in the wrapper's data. */
  data?: Uint8Array;
  key?: Uint8Array;
}

function build({ inner, wrapper, data, key }: Case): Uint8Array {
  return signTransaction(wrapperTx(data ?? byUser(innerTx(inner)).raw, wrapper), key ?? WAIVER_KEY).raw;
}

const check = (testCase: Case, nonces?: NonceRule) =>
  assertWrapper(build(testCase), view({ ...GOOD, ...testCase.chain }), nonces);

/** The same fields with a signature that no key can have made. */
function withImpossibleSignature(tx: UnsignedTransaction): SignedTransaction {
  const compact = new Uint8Array(64);
  compact[31] = 5; // not the x coordinate of a point
  compact[63] = 1;
  const signature = { compact, yParity: 0 as const };
  return { ...tx, signature, raw: encodeTransaction(tx, signature) };
}

describe("isWrapper", () => {
  it("is true if and only if `to` is the marker", () => {
    expect(isWrapper({ to: MARKER_ADDRESS })).toBe(true);
    expect(isWrapper({ to: Uint8Array.from(MARKER_ADDRESS) })).toBe(true);
    expect(isWrapper({ to: TOKEN })).toBe(false);
    expect(isWrapper({ to: undefined })).toBe(false);
  });
});

describe("assertWrapper", () => {
  it("returns wrapper, waiver, inner and sender of a wrapper that keeps every rule", async () => {
    const valid = await check({});
    expect(valid.waiver).toEqual(WAIVER);
    expect(valid.sender).toEqual(USER);
    expect(valid.inner.nonce).toBe(3n);
    expect(valid.wrapper.nonce).toBe(5n);
  });

  it("accepts a typed wrapper with zero fees (D7)", async () => {
    const tx = eip1559({ nonce: 5n, to: MARKER_ADDRESS, gasLimit: 1_000_000n, data: byUser(innerTx()).raw });
    expect((await assertWrapper(signTransaction(tx, WAIVER_KEY).raw, view(GOOD))).waiver).toEqual(WAIVER);
  });

  it.each<[string, string, string, Case]>([
    ["wrapper decodes", "WRAPPER_INVALID", "not to the marker", { wrapper: { to: TOKEN } }],
    ["wrapper decodes", "WRAPPER_INVALID", "no address", { wrapper: { to: undefined } }],
    ["wrapper decodes", "WRAPPER_INVALID", "not below 2^64-1", { wrapper: { nonce: 2n ** 64n - 1n } }],
    ["wrapper signature", "WRAPPER_WRONG_CHAIN_ID", "chain 988", { wrapper: { chainId: 988n } }],
    ["wrapper signature", "WRAPPER_WRONG_CHAIN_ID", "chain any", { wrapper: { chainId: undefined } }],
    ["waiver registered", "WAIVER_NOT_REGISTERED", bytesToHex(USER), { key: USER_KEY }],
    ["waiver registered", "WAIVER_NOT_REGISTERED", bytesToHex(WAIVER), { chain: { waivers: [] } }],
    ["wrapper gas price", "WRAPPER_NON_ZERO_GAS_PRICE", "1 wei", { wrapper: { gasPrice: 1n } }],
    ["wrapper value", "WRAPPER_NON_ZERO_VALUE", "1 wei", { wrapper: { value: 1n } }],
    ["inner decodes", "EMPTY_TRANSACTION", "no bytes", { data: new Uint8Array(0) }],
    [
      "inner decodes",
      "MALFORMED_RLP",
      "1 more byte",
      { data: Uint8Array.from([...byUser(innerTx()).raw, 0]) },
    ],
    ["inner decodes", "UNPROTECTED_SIGNATURE", "EIP-155", { inner: { chainId: undefined } }],
    ["inner gas price", "NON_ZERO_GAS_PRICE", "1 wei", { inner: { gasPrice: 1n } }],
    ["inner chain id", "WRONG_CHAIN_ID", "chain 988", { inner: { chainId: 988n } }],
    ["target and selector", "CONTRACT_CREATION", "no `to`", { inner: { to: undefined } }],
    ["target and selector", "TARGET_IS_MARKER", "marker", { inner: { to: MARKER_ADDRESS } }],
    ["target and selector", "TARGET_NOT_ALLOWED", bytesToHex(WAIVER), { inner: { to: USER } }],
    [
      "target and selector",
      "SELECTOR_NOT_ALLOWED",
      "no method selector",
      { inner: { data: new Uint8Array(0) } },
    ],
    ["inner signature", "INVALID_SIGNATURE", "no key", { data: withImpossibleSignature(innerTx()).raw }],
    [
      "wrapper nonce",
      "WRAPPER_NONCE_TOO_LOW",
      "nonce is 4, the waiver's next is 5",
      { wrapper: { nonce: 4n } },
    ],
    ["wrapper nonce", "WRAPPER_NONCE_GAP", "nonce is 6, the waiver's next is 5", { wrapper: { nonce: 6n } }],
    ["inner nonce", "NONCE_TOO_LOW", "it is 2, the next", { inner: { nonce: 2n } }],
    ["inner nonce", "NONCE_GAP", "it is 4, the next", { inner: { nonce: 4n } }],
    [
      "sender code",
      "SENDER_IS_CONTRACT",
      "1 bytes of code",
      { chain: { code: { [bytesToHex(USER)]: Uint8Array.of(0) } } },
    ],
    [
      "inner value",
      "INSUFFICIENT_BALANCE",
      "is 0 wei, the inner transaction carries 1",
      { inner: { value: 1n } },
    ],
    ["wrapper gas limit", "GAS_LIMIT_TOO_LOW", "gas limit 21000", { inner: { gasLimit: 21_000n } }],
    ["wrapper gas limit", "WRAPPER_GAS_LIMIT_TOO_LOW", "100001", { wrapper: { gasLimit: 100_001n } }],
  ])("%s: refuses with %s and says %j", async (name, reason, message, testCase) => {
    const error = await refusalOf(check(testCase));
    expect(error.reason).toBe(reason);
    expect(error.values.check).toBe(name);
    expect(error.message).toContain(message);
  });

  it("tells why a wrapper does not decode, and that the fault is the wrapper's", async () => {
    const error = await refusalOf(assertWrapper(Uint8Array.of(0xc1), view(GOOD)));
    expect(error).toMatchObject({ reason: "WRAPPER_INVALID", code: "BROADCAST_FAILED" });
    expect(error.values).toMatchObject({ check: "wrapper decodes", cause: "MALFORMED_RLP" });
    expect(error.message).toContain("the wrapper is invalid");
  });

  it("refuses a typed wrapper with a fee as not decoding, before anything else", async () => {
    const tx = eip1559({ to: MARKER_ADDRESS, maxFeePerGas: 1n });
    const error = await refusalOf(assertWrapper(byUser(tx).raw, view({ ...GOOD, waivers: [] })));
    expect(error).toMatchObject({
      reason: "WRAPPER_NON_ZERO_GAS_PRICE",
      values: { check: "wrapper decodes" },
    });
  });

  it("refuses a wrapper whose signature no key can have made", async () => {
    const error = await refusalOf(
      assertWrapper(withImpossibleSignature(wrapperTx(byUser(innerTx()).raw)).raw, view(GOOD)),
    );
    expect(error.reason).toBe("WRAPPER_INVALID_SIGNATURE");
    expect(error.values).toMatchObject({ check: "wrapper signature", cause: "INVALID_SIGNATURE" });
  });

  // Each case breaks one check of D7. Of two broken checks, the error names the earlier one.
  const order: [string, Case][] = [
    ["wrapper decodes", { wrapper: { nonce: 2n ** 64n - 1n } }],
    ["wrapper signature", { wrapper: { chainId: 1n } }],
    ["waiver registered", { chain: { waivers: [] } }],
    ["wrapper gas price", { wrapper: { gasPrice: 1n } }],
    ["wrapper value", { wrapper: { value: 1n } }],
    ["inner decodes", { inner: { chainId: undefined } }],
    ["inner gas price", { inner: { gasPrice: 1n } }],
    ["inner chain id", { inner: { chainId: 1n } }],
    ["target and selector", { chain: { policy: [] } }],
    ["wrapper nonce", { chain: { nonces: { ...GOOD.nonces, [bytesToHex(WAIVER)]: 6n } } }],
    ["inner nonce", { inner: { nonce: 9n } }],
    ["inner value", { inner: { value: 1n } }],
    ["wrapper gas limit", { wrapper: { gasLimit: 1n } }],
  ];
  const pairs = order.flatMap(([earlier, one], i) =>
    order.slice(i + 1).map(([later, two]) => ({
      earlier,
      later,
      both: {
        inner: { ...two.inner, ...one.inner },
        wrapper: { ...two.wrapper, ...one.wrapper },
        chain: { ...two.chain, ...one.chain },
      },
    })),
  );
  it.each(pairs)("names $earlier before $later (D7)", async ({ earlier, both }) => {
    expect((await refusalOf(check(both))).values.check).toBe(earlier);
  });

  it("permits nonces ahead where the pool queues them, and never behind", async () => {
    expect((await check({ wrapper: { nonce: 9n }, inner: { nonce: 8n } }, "gaps")).wrapper.nonce).toBe(9n);
    expect((await refusalOf(check({ wrapper: { nonce: 4n } }, "gaps"))).reason).toBe("WRAPPER_NONCE_TOO_LOW");
    expect((await refusalOf(check({ inner: { nonce: 2n } }, "gaps"))).reason).toBe("NONCE_TOO_LOW");
  });

  it("counts the wrapper's own nonce where a waiver sends a transaction of its own (D9)", async () => {
    const own = (nonce: bigint) => check({ data: signTransaction(innerTx({ nonce }), WAIVER_KEY).raw });
    expect((await own(6n)).sender).toEqual(WAIVER);
    expect((await refusalOf(own(5n))).reason).toBe("NONCE_TOO_LOW");
    expect((await refusalOf(own(7n))).reason).toBe("NONCE_GAP");
  });

  it("accepts a sender that has delegated to a contract, and no other code (EIP-3607, EIP-7702)", async () => {
    const withCode = (code: Uint8Array) => check({ chain: { code: { [bytesToHex(USER)]: code } } });
    const delegation = Uint8Array.of(0xef, 0x01, 0x00, ...TOKEN);
    expect((await withCode(delegation)).sender).toEqual(USER);
    for (const code of [Uint8Array.of(0xef, 0x01), Uint8Array.of(0xef, 0x02, 0x00, ...TOKEN)])
      expect((await refusalOf(withCode(code))).reason).toBe("SENDER_IS_CONTRACT");
  });

  it("reads a balance only where value is carried, and accepts exactly enough", async () => {
    const balances = { [bytesToHex(USER)]: 10n };
    expect((await check({ inner: { value: 10n }, chain: { balances } })).inner.value).toBe(10n);
    expect((await refusalOf(check({ inner: { value: 11n }, chain: { balances } }))).reason).toBe(
      "INSUFFICIENT_BALANCE",
    );
  });

  it("accepts a wrapper gas limit of exactly the inner's, its own intrinsic gas and the verification gas", async () => {
    const least = 100_000n + intrinsicGas(wrapperTx(byUser(innerTx()).raw)) + VERIFICATION_GAS;
    expect((await check({ wrapper: { gasLimit: least } })).wrapper.gasLimit).toBe(least);
    const error = await refusalOf(check({ wrapper: { gasLimit: least - 1n } }));
    expect(error.values).toMatchObject({ gasLimit: String(least - 1n), needed: String(least) });
  });

  it("passes on an error of the chain view", async () => {
    const down = { ...view(GOOD), nonceOf: () => Promise.reject(new Error("the store is away")) };
    await expect(assertWrapper(build({}), down)).rejects.toThrow("the store is away");
  });
});

describe("reassertWrapper", () => {
  const user = bytesToHex(USER);
  const waiver = bytesToHex(WAIVER);
  it.each<[string, Partial<Chain>, string]>([
    ["the waiver was revoked", { waivers: [] }, "WAIVER_NOT_REGISTERED"],
    ["the policy was narrowed", { policy: [] }, "TARGET_NOT_ALLOWED"],
    ["the waiver's nonce was used", { nonces: { ...GOOD.nonces, [waiver]: 6n } }, "WRAPPER_NONCE_TOO_LOW"],
    ["the sender's nonce was used", { nonces: { ...GOOD.nonces, [user]: 4n } }, "NONCE_TOO_LOW"],
    ["the sender has become a contract", { code: { [user]: Uint8Array.of(0) } }, "SENDER_IS_CONTRACT"],
    ["the sender's balance is gone", { balances: { [user]: 6n } }, "INSUFFICIENT_BALANCE"],
  ])("finds that %s, as assertWrapper would", async (_, change, reason) => {
    const raw = build({ inner: { value: 7n } });
    const before = view({ ...GOOD, balances: { [user]: 7n } });
    const valid = await assertWrapper(raw, before);
    await reassertWrapper(valid, before);
    const after = view({ ...GOOD, balances: { [user]: 7n }, ...change });
    const refusal = await refusalOf(reassertWrapper(valid, after));
    expect(refusal.reason).toBe(reason);
    expect(refusal).toEqual(await refusalOf(assertWrapper(raw, after)));
  });
});
