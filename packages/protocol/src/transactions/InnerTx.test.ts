import { describe, expect, it } from "vitest";
import {
  byUser,
  CHAIN_ID,
  eip1559,
  eip2930,
  legacy,
  refusal,
  TOKEN,
  TRANSFER,
  TRANSFER_SELECTOR,
  USER,
} from "../../test/support/fixtures.js";
import { bytesToHex } from "../encoding/hex.js";
import { encodeRlp } from "../encoding/rlp.js";
import { MARKER_ADDRESS } from "../network.js";
import { compilePolicy } from "../policy/policySets.js";
import { decodeTransaction } from "./decodeTransaction.js";
import {
  assertInnerTx,
  DEFAULT_MAX_DATA_LENGTH,
  DEFAULT_MAX_GAS_LIMIT,
  decodeInnerTx,
  encodeInnerTx,
  INNER_ENCODINGS,
  type InnerTx,
  type InnerTxRules,
  parseInnerTx,
} from "./InnerTx.js";
import { intrinsicGas } from "./intrinsicGas.js";
import { hashTransaction, type UnsignedTransaction } from "./SignedTransaction.js";
import { maxWrapperLength } from "./wrapperLength.js";

const rules: InnerTxRules = {
  chainId: CHAIN_ID,
  maxGasLimit: DEFAULT_MAX_GAS_LIMIT,
  maxDataLength: DEFAULT_MAX_DATA_LENGTH,
  policy: compilePolicy([{ address: TOKEN, selectors: [TRANSFER_SELECTOR] }]),
};

const inner = (tx: UnsignedTransaction) => decodeInnerTx(byUser(tx).raw);
const refused = (tx: InnerTx, overrides: Partial<InnerTxRules> = {}) =>
  refusal(() => assertInnerTx(tx, { ...rules, ...overrides }));

/** A signature that no key can have made. */
const withImpossibleSignature = (tx: UnsignedTransaction): InnerTx => {
  const compact = new Uint8Array(64);
  compact[31] = 5; // not the x coordinate of a point
  compact[63] = 1;
  return { ...byUser(tx), signature: { compact, yParity: 0 } } as InnerTx;
};

describe("encodeInnerTx (D1)", () => {
  it.each([eip2930(), eip1559()])("writes a $type inner as its envelope, or as an RLP string", (tx) => {
    const innerTx = inner(tx);
    expect(encodeInnerTx(innerTx)).toEqual(innerTx.raw);
    const string = encodeInnerTx(innerTx, "rlp");
    expect(string).toEqual(encodeRlp(innerTx.raw));
    const read = decodeInnerTx(string);
    expect(read).toEqual(innerTx);
    expect(hashTransaction(read)).toEqual(hashTransaction(innerTx));
  });

  it("writes a legacy inner as its list, which is its RLP encoding", () => {
    const innerTx = inner(legacy());
    for (const encoding of INNER_ENCODINGS) expect(encodeInnerTx(innerTx, encoding)).toEqual(innerTx.raw);
  });
});

describe("decodeInnerTx", () => {
  const NO_TYPED_TRANSACTION = {
    reason: "MALFORMED_RLP",
    message: "the RLP string holds no typed transaction",
    values: { offset: 0 },
  };
  const typed = byUser(eip1559()).raw;
  const decoding = (raw: Uint8Array) => refusal(() => decodeInnerTx(raw));

  it.each([
    ["nothing", Uint8Array.of(0x80)],
    ["a legacy transaction, which RLP writes as a list", encodeRlp(byUser(legacy()).raw)],
    ["bytes that begin with no type", encodeRlp(Uint8Array.of(0x80, 1))],
  ])("refuses an RLP string that holds %s", (_, raw) => {
    expect(decoding(raw)).toMatchObject(NO_TYPED_TRANSACTION);
  });

  it("refuses bytes behind the string", () => {
    expect(decodeInnerTx(encodeRlp(typed)).raw).toEqual(typed);
    expect(decoding(Uint8Array.of(...encodeRlp(typed), 0)).reason).toBe("MALFORMED_RLP");
  });

  it("takes a list for a legacy transaction, the empty list too", () => {
    const list = Uint8Array.of(0xc0);
    expect(decoding(list).message).toBe(refusal(() => decodeTransaction(list)).message);
  });
});

describe("parseInnerTx", () => {
  it("names the character that is not hex, and none of an empty string", () => {
    expect(refusal(() => parseInnerTx("0x0g"))).toMatchObject({
      reason: "INVALID_HEX",
      values: { character: 3 },
    });
    expect(refusal(() => parseInnerTx(""))).toMatchObject({ reason: "EMPTY_TRANSACTION", values: {} });
    expect(refusal(() => parseInnerTx("")).values).toEqual({});
  });

  it("reads 0x-prefixed hex in upper and lower case", () => {
    const { raw } = byUser(legacy());
    const text = bytesToHex(raw);
    expect(parseInnerTx(text).raw).toEqual(raw);
    expect(parseInnerTx(`0x${text.slice(2).toUpperCase()}`).raw).toEqual(raw);
  });

  it.each([
    ["", "EMPTY_TRANSACTION", "empty string"],
    ["0x", "EMPTY_TRANSACTION", "no bytes"],
    ["f86c", "INVALID_HEX", "does not begin with 0x"],
    ["0xf86", "INVALID_HEX", "odd number of hex digits (3)"],
    ["0xf86g", "INVALID_HEX", "character 5"],
    [" 0xf86c", "INVALID_HEX", "does not begin with 0x"],
    ["0xf86c", "MALFORMED_RLP", "the transaction"],
  ])("says that %j is %s", (text, reason, message) => {
    const error = refusal(() => parseInnerTx(text));
    expect(error).toMatchObject({ reason, code: "PARSE_ERROR" });
    expect(error.message).toContain(message);
  });

  it("refuses a signature from before EIP-155, which would replay on other chains (D1)", () => {
    const error = refusal(() => parseInnerTx(bytesToHex(byUser(legacy({ chainId: undefined })).raw)));
    expect(error).toMatchObject({ reason: "UNPROTECTED_SIGNATURE", code: "VALIDATION_FAILED" });
  });
});

describe("assertInnerTx", () => {
  it.each([legacy(), eip2930(), eip1559()])(
    "accepts a gas-waived $type call, and finds its sender and hash (D6)",
    (tx) => {
      const decoded = inner(tx);
      expect(assertInnerTx(decoded, rules)).toEqual({
        tx: decoded,
        sender: USER,
        hash: hashTransaction(decoded),
        to: TOKEN,
      });
    },
  );

  it.each<[string, UnsignedTransaction, string, string[]]>([
    ["another chain", legacy({ chainId: 988n }), "WRONG_CHAIN_ID", ["988", "2201"]],
    ["chain 0", legacy({ chainId: 0n }), "WRONG_CHAIN_ID", ["chain 0", "2201"]],
    ["a gas price of 1", legacy({ gasPrice: 1n }), "NON_ZERO_GAS_PRICE", ["1 wei"]],
    ["a gas price of 1 in EIP-2930", eip2930({ gasPrice: 1n }), "NON_ZERO_GAS_PRICE", ["1 wei"]],
    ["a maximum fee", eip1559({ maxFeePerGas: 7n }), "NON_ZERO_GAS_PRICE", ["7 wei"]],
    ["a priority fee alone", eip1559({ maxPriorityFeePerGas: 8n }), "NON_ZERO_GAS_PRICE", ["8 wei"]],
    ["a contract creation", legacy({ to: undefined }), "CONTRACT_CREATION", ["contract creation"]],
    [
      "a call to the marker",
      legacy({ to: MARKER_ADDRESS }),
      "TARGET_IS_MARKER",
      [bytesToHex(MARKER_ADDRESS)],
    ],
    ["gas below intrinsic", legacy({ gasLimit: 20_999n }), "GAS_LIMIT_TOO_LOW", ["20999", "22"]],
    [
      "gas above the limit",
      legacy({ gasLimit: 10_000_001n }),
      "GAS_LIMIT_TOO_HIGH",
      ["10000001", "10000000"],
    ],
    ["another target", legacy({ to: USER }), "TARGET_NOT_ALLOWED", [bytesToHex(USER), "the waiver's policy"]],
    [
      "another selector",
      legacy({ data: TRANSFER.with(0, 0) }),
      "SELECTOR_NOT_ALLOWED",
      ["0x00", bytesToHex(TOKEN)],
    ],
    ["no selector", legacy({ data: TRANSFER.subarray(0, 3) }), "SELECTOR_NOT_ALLOWED", ["3 byte(s)"]],
  ])("refuses %s, and names the values", (_, tx, reason, named) => {
    const error = refused(inner(tx));
    expect(error).toMatchObject({ reason, code: "VALIDATION_FAILED" });
    for (const value of named) expect(error.message).toContain(value);
  });

  it("refuses calldata above the limit, and accepts it at the limit", () => {
    const limits = { maxDataLength: TRANSFER.length };
    expect(assertInnerTx(inner(legacy()), { ...rules, ...limits }).sender).toEqual(USER);
    const longer = new Uint8Array([...TRANSFER, 0]);
    const error = refused(inner(legacy({ data: longer })), limits);
    expect(error).toMatchObject({ reason: "DATA_TOO_LONG", values: { bytes: 69, maxDataLength: 68 } });
  });

  it("accepts a wrapper of exactly the most bytes", () => {
    const tx = inner(legacy());
    const maxWrapperBytes = maxWrapperLength(tx.raw.length);
    expect(assertInnerTx(tx, { ...rules, maxWrapperBytes }).tx).toBe(tx);
    expect(refused(tx, { maxWrapperBytes: maxWrapperBytes - 1 }).reason).toBe("TRANSACTION_TOO_LARGE");
  });

  it("accepts the intrinsic gas and the limit themselves", () => {
    const least = legacy({ gasLimit: intrinsicGas(legacy()) });
    expect(assertInnerTx(inner(least), rules).sender).toEqual(USER);
    expect(refused(inner({ ...least, gasLimit: least.gasLimit - 1n })).reason).toBe("GAS_LIMIT_TOO_LOW");
    expect(assertInnerTx(inner(legacy({ gasLimit: 10_000_000n })), rules).sender).toEqual(USER);
  });

  it("refuses a signature that no key can have made", () => {
    expect(refused(withImpossibleSignature(legacy()))).toMatchObject({
      reason: "INVALID_SIGNATURE",
      code: "VALIDATION_FAILED",
    });
  });

  it("names the policy that refused", () => {
    expect(refused(inner(legacy({ to: USER })), { policyName: "the scope of this key" }).message).toContain(
      "the scope of this key",
    );
  });

  it.each([
    [[], "TARGET_NOT_ALLOWED"],
    [[{ address: TOKEN, selectors: [] }], "SELECTOR_NOT_ALLOWED"],
  ])("refuses a call outside the sender's scope, however wide the policy (D25)", (scope, reason) => {
    const changes = { scope: compilePolicy(scope), scopeName: "the scope of this key" };
    const error = refused(inner(legacy()), changes);
    expect(error.reason).toBe(reason);
    expect(error.message).toContain("the scope of this key");
    const narrow = { policy: compilePolicy([]), scope: compilePolicy([{ address: "*" }]) };
    expect(refused(inner(legacy()), narrow).message).toContain("the waiver's policy");
  });

  // The rules in the order of D3. Of two broken at once, the earlier one is reported.
  const low = { gasLimit: 1n };
  const high = { gasLimit: 10_000_001n };
  const breaking: [string, Parameters<typeof legacy>[0], Partial<InnerTxRules>][] = [
    ["WRONG_CHAIN_ID", { chainId: 1n }, {}],
    ["NON_ZERO_GAS_PRICE", { gasPrice: 1n }, {}],
    ["CONTRACT_CREATION", { to: undefined }, {}],
    ["TARGET_IS_MARKER", { to: MARKER_ADDRESS }, {}],
    ["GAS_LIMIT_TOO_LOW", low, {}],
    ["GAS_LIMIT_TOO_HIGH", high, {}],
    ["DATA_TOO_LONG", {}, { maxDataLength: 0 }],
    ["TARGET_NOT_ALLOWED", {}, { policy: compilePolicy([]) }],
    ["SELECTOR_NOT_ALLOWED", {}, { policy: compilePolicy([{ address: TOKEN, selectors: [] }]) }],
    ["INVALID_SIGNATURE", {}, {}],
  ];
  // Two rules on the same field cannot be broken at once.
  const exclude = [
    ["CONTRACT_CREATION", "TARGET_IS_MARKER"],
    ["GAS_LIMIT_TOO_LOW", "GAS_LIMIT_TOO_HIGH"],
    ["TARGET_NOT_ALLOWED", "SELECTOR_NOT_ALLOWED"],
  ].map(String);
  const pairs = breaking.flatMap((first, i) =>
    breaking
      .slice(i + 1)
      .filter((second) => !exclude.includes(String([first[0], second[0]])))
      .map((second) => ({ earlier: first[0], later: second[0], first, second })),
  );
  it.each(pairs)("reports $earlier before $later (D3)", ({ earlier, first, second }) => {
    const tx = legacy({ ...second[1], ...first[1] });
    const broken = second[0] === "INVALID_SIGNATURE" ? withImpossibleSignature(tx) : inner(tx);
    expect(refused(broken, { ...second[2], ...first[2] }).reason).toBe(earlier);
  });
});
