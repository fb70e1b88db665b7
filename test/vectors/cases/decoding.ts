// The wrapper's data decodes to an InnerTx (D1, D2): types, canonical RLP, ranges, signatures.
import { type Changes, innerTx, refusedByBoth, type VectorCase } from "../case.js";
import { TOKEN } from "../state.js";
import { CURVE_ORDER, type Edit, encode, highS, type Item, integer, set } from "../transaction.js";

const check = "inner decodes";
const clause = "D7 6, D2";
const long = (bytes: number, fill = "01") => `0x${fill.repeat(bytes)}`;
const raw = (hex: string): Item => ({ raw: hex });

/** Edits of the fields of a signed legacy InnerTx. */
const FIELDS: readonly [name: string, edit: Edit, reason: string][] = [
  ["a nonce with a leading zero", set("nonce", "0x0002"), "NON_CANONICAL_RLP"],
  ["a nonce of 0 written as a zero byte", set("nonce", "0x00"), "NON_CANONICAL_RLP"],
  ["a gas price of 0 written as a zero byte", set("gasPrice", "0x00"), "NON_CANONICAL_RLP"],
  ["a gas limit with a leading zero", set("gasLimit", "0x000186a0"), "NON_CANONICAL_RLP"],
  ["a value of 0 written as a zero byte", set("value", "0x00"), "NON_CANONICAL_RLP"],
  ["an r with a leading zero", set("r", `0x00${"01".repeat(31)}`), "NON_CANONICAL_RLP"],
  ["an s with a leading zero", set("s", "0x0001"), "NON_CANONICAL_RLP"],
  ["a v with a leading zero", set("v", "0x001155"), "NON_CANONICAL_RLP"],
  ["a nonce of one byte behind the prefix 0x81", set("nonce", raw("0x8102")), "NON_CANONICAL_RLP"],
  ["a short string in the long form", set("to", raw(`0xb814${TOKEN.slice(2)}`)), "NON_CANONICAL_RLP"],
  ["an address of 19 bytes", set("to", long(19)), "MALFORMED_TRANSACTION"],
  ["an address of 21 bytes", set("to", long(21)), "MALFORMED_TRANSACTION"],
  ["an address of one byte", set("to", "0x01"), "MALFORMED_TRANSACTION"],
  ["a nonce of nine bytes", set("nonce", long(9)), "MALFORMED_TRANSACTION"],
  ["a gas limit of nine bytes", set("gasLimit", long(9)), "MALFORMED_TRANSACTION"],
  ["a gas price of 33 bytes", set("gasPrice", long(33)), "MALFORMED_TRANSACTION"],
  ["a value of 33 bytes", set("value", long(33)), "MALFORMED_TRANSACTION"],
  ["a v of 33 bytes", set("v", long(33)), "MALFORMED_TRANSACTION"],
  ["an r of 33 bytes", set("r", long(33)), "MALFORMED_TRANSACTION"],
  ["an s of 33 bytes", set("s", long(33)), "MALFORMED_TRANSACTION"],
  ["a list for its data", set("data", []), "MALFORMED_RLP"],
  ["a list for its nonce", set("nonce", ["0x02"]), "MALFORMED_RLP"],
  ["a tenth field", (items) => [...items, "0x"], "MALFORMED_RLP"],
  ["eight fields: no s", (items) => items.slice(0, -1), "MALFORMED_RLP"],
  ["six fields: no signature", (items) => items.slice(0, -3), "MALFORMED_RLP"],
  ["the nonce 2^64 - 1 (EIP-2681)", set("nonce", integer(2n ** 64n - 1n)), "NONCE_OUT_OF_RANGE"],
  [
    "the fields that are hashed for signing: chain id, 0, 0",
    (i) => [...i.slice(0, -3), "0x0899", "0x", "0x"],
    "INVALID_SIGNATURE",
  ],
  ["r = 0", set("r", "0x"), "INVALID_SIGNATURE"],
  ["r = n", set("r", integer(CURVE_ORDER)), "INVALID_SIGNATURE"],
  ["s = 0", set("s", "0x"), "INVALID_SIGNATURE"],
  ["s = n", set("s", integer(CURVE_ORDER)), "INVALID_SIGNATURE"],
  ["s = n/2 + 1 (EIP-2)", set("s", integer(CURVE_ORDER / 2n + 1n)), "HIGH_S_SIGNATURE"],
  ["s = n - 1 (EIP-2)", set("s", integer(CURVE_ORDER - 1n)), "HIGH_S_SIGNATURE"],
  ["the high-s twin of its signature (EIP-2)", highS, "HIGH_S_SIGNATURE"],
  ["v = 0", set("v", "0x"), "INVALID_SIGNATURE"],
  ["v = 1", set("v", "0x01"), "INVALID_SIGNATURE"],
  ["v = 26", set("v", "0x1a"), "INVALID_SIGNATURE"],
  ["v = 29", set("v", "0x1d"), "INVALID_SIGNATURE"],
  ["v = 34", set("v", "0x22"), "INVALID_SIGNATURE"],
  ["v = 27, from before EIP-155", set("v", "0x1b"), "UNPROTECTED_SIGNATURE"],
  ["v = 28, from before EIP-155", set("v", "0x1c"), "UNPROTECTED_SIGNATURE"],
];

const TYPED: readonly [name: string, changes: Changes, reason: string][] = [
  ["EIP-2930 inner with yParity 2", { type: 1, edit: set("v", "0x02") }, "INVALID_SIGNATURE"],
  ["EIP-1559 inner with yParity 27", { type: 2, edit: set("v", "0x1b") }, "INVALID_SIGNATURE"],
  [
    "EIP-1559 inner with a yParity of 0 written as a zero byte",
    { type: 2, edit: set("v", "0x00") },
    "NON_CANONICAL_RLP",
  ],
  [
    "EIP-1559 inner with a fee of 0 written as a zero byte",
    { type: 2, edit: set("maxFeePerGas", "0x00") },
    "NON_CANONICAL_RLP",
  ],
  ["EIP-1559 inner with the high-s twin of its signature", { type: 2, edit: highS }, "HIGH_S_SIGNATURE"],
  [
    "EIP-2930 inner with a chain id with a leading zero",
    { type: 1, edit: set("chainId", "0x000899") },
    "NON_CANONICAL_RLP",
  ],
  [
    "EIP-2930 inner with a chain id of 33 bytes",
    { type: 1, edit: set("chainId", long(33)) },
    "MALFORMED_TRANSACTION",
  ],
  [
    "EIP-2930 inner with an empty string for its access list",
    { type: 1, edit: set("accessList", "0x") },
    "MALFORMED_RLP",
  ],
  [
    "EIP-1559 inner with an access list entry without keys",
    { type: 2, edit: set("accessList", [[TOKEN]]) },
    "MALFORMED_RLP",
  ],
  [
    "EIP-1559 inner with an access list entry of three",
    { type: 2, edit: set("accessList", [[TOKEN, [], "0x"]]) },
    "MALFORMED_RLP",
  ],
  [
    "EIP-1559 inner with an access list address of 19 bytes",
    { type: 2, edit: set("accessList", [[long(19), []]]) },
    "MALFORMED_TRANSACTION",
  ],
  [
    "EIP-2930 inner with a storage key of 31 bytes",
    { type: 1, edit: set("accessList", [[TOKEN, [long(31)]]]) },
    "MALFORMED_TRANSACTION",
  ],
  [
    "EIP-2930 inner with a storage key of 33 bytes",
    { type: 1, edit: set("accessList", [[TOKEN, [long(33)]]]) },
    "MALFORMED_TRANSACTION",
  ],
  ["EIP-1559 inner with a field too many", { type: 2, edit: (items) => [...items, "0x"] }, "MALFORMED_RLP"],
  ["EIP-1559 inner without a signature", { type: 2, edit: (items) => items.slice(0, -3) }, "MALFORMED_RLP"],
  ["EIP-4844 inner", { type: 3 }, "UNSUPPORTED_TYPE"],
  ["EIP-7702 inner", { type: 4 }, "UNSUPPORTED_TYPE"],
];

/** Wrapper data that is not a transaction, or has bytes too many or too few. */
function bytes(): readonly [name: string, data: string, reason: string][] {
  const legacy = innerTx().bytes;
  const typed = innerTx({ type: 2 }).bytes;
  const payload = legacy.slice(6); // behind the prefix f8 and one byte of length
  return [
    ["no data", "0x", "EMPTY_TRANSACTION"],
    ["a zero byte", "0x00", "MALFORMED_RLP"],
    ["the byte 0x12", "0x12", "MALFORMED_RLP"],
    ["the byte 0x7f", "0x7f", "MALFORMED_RLP"],
    ["a text", "0x68656c6c6f20776f726c64", "MALFORMED_RLP"],
    ["the type byte 5 and a list that is cut off", "0x05c201", "MALFORMED_RLP"],
    ["the type byte 5 and a list with a string that is cut off", "0x05c282", "MALFORMED_RLP"],
    ["the type byte 5, a list and a byte more", "0x05c00a", "MALFORMED_RLP"],
    [
      "the type byte 5 and a list with a string whose length is not in its shortest form",
      "0x05c3b80101",
      "NON_CANONICAL_RLP",
    ],
    ["the type byte 5 and an empty list", "0x05c0", "UNSUPPORTED_TYPE"],
    ["the type byte 0 and a list of lists with a string that is cut off", "0x00c4c0c20182", "MALFORMED_RLP"],
    ["the type byte 0 and a well-formed list of lists", "0x00c5c0c20102c0", "UNSUPPORTED_TYPE"],
    ["an empty string", "0x80", "MALFORMED_RLP"],
    ["the byte 0xbf", "0xbf", "MALFORMED_RLP"],
    ["an empty list", "0xc0", "MALFORMED_RLP"],
    ["the type byte 2 alone", "0x02", "MALFORMED_RLP"],
    ["the type byte 1 and a string", "0x0180", "MALFORMED_RLP"],
    ["calldata in place of a transaction", innerTx().fields.data, "MALFORMED_RLP"],
    ["a legacy inner and a byte more", `${legacy}00`, "MALFORMED_RLP"],
    ["an EIP-1559 inner and a byte more", `${typed}00`, "MALFORMED_RLP"],
    ["two inners, one after the other", legacy + legacy.slice(2), "MALFORMED_RLP"],
    ["a legacy inner without its last byte", legacy.slice(0, -2), "MALFORMED_RLP"],
    ["an EIP-1559 inner without its last byte", typed.slice(0, -2), "MALFORMED_RLP"],
    ["a legacy inner inside an RLP string", `0x${encode(legacy)}`, "MALFORMED_RLP"],
    ["an EIP-1559 inner inside two RLP strings", `0x${encode(`0x${encode(typed)}`)}`, "MALFORMED_RLP"],
    ["an EIP-1559 inner inside an RLP string, and a byte more", `0x${encode(typed)}00`, "MALFORMED_RLP"],
    ["an EIP-1559 inner and a byte more inside an RLP string", `0x${encode(`${typed}00`)}`, "MALFORMED_RLP"],
    ["an EIP-4844 inner inside an RLP string", `0x${encode(innerTx({ type: 3 }).bytes)}`, "UNSUPPORTED_TYPE"],
    ["a text inside an RLP string", "0x8568656c6c6f", "MALFORMED_RLP"],
    ["an RLP string with a length not in its shortest form", `0xb90001${"02"}`, "NON_CANONICAL_RLP"],
    ["a length with a zero in front", `0xf900${legacy.slice(4, 6)}${payload}`, "NON_CANONICAL_RLP"],
    ["a short list in the long form", "0xf801c0", "NON_CANONICAL_RLP"],
    ["a length of 2^64 - 1", `0xff${"ff".repeat(8)}`, "MALFORMED_RLP"],
    ["the inner type 0x05", `0x05${typed.slice(4)}`, "UNSUPPORTED_TYPE"],
    ["the inner type 0x3f, a CustomTx of the public chain", `0x3f${typed.slice(4)}`, "CUSTOM_TX_UNSUPPORTED"],
    ["the inner type 0x7f", `0x7f${typed.slice(4)}`, "UNSUPPORTED_TYPE"],
  ];
}

export const decodingCases = (): VectorCase[] => [
  ...bytes().map(([name, data, reason]) =>
    refusedByBoth({ name: `data: ${name}`, clause, data }, check, reason),
  ),
  ...FIELDS.map(([name, edit, reason]) =>
    refusedByBoth({ name: `inner with ${name}`, clause, inner: { edit } }, check, reason),
  ),
  ...TYPED.map(([name, inner, reason]) => refusedByBoth({ name, clause, inner }, check, reason)),
  refusedByBoth(
    { name: "inner signed for any chain, from before EIP-155", clause: "D7 6, D1", inner: { chainId: null } },
    check,
    "UNPROTECTED_SIGNATURE",
  ),
];
