// Rules on the wrapper: it decodes, and a registered waiver has signed it for this chain, at price 0 and without value.
import { innerTx, refused, type VectorCase, wrapperTx } from "../case.js";
import { OTHER_WAIVER, registry, UNREGISTERED_ACCOUNT, USER, VALIDATOR } from "../state.js";
import { addressOf, CURVE_ORDER, type Edit, highS, integer, otherParity, set } from "../transaction.js";

const MAX_UINT64 = 2n ** 64n - 1n;
const tooLong = (bytes: number) => `0x${"01".repeat(bytes)}`;
const drop =
  (count: number): Edit =>
  (items) =>
    items.slice(0, -count);
/** An r that is the x coordinate of no point of the curve. */
const NO_POINT = "0x05";

const UNDECODABLE: readonly [name: string, edit: Edit, cause: string][] = [
  ["a nonce with a leading zero", set("nonce", "0x0003"), "NON_CANONICAL_RLP"],
  ["a gas price of 0 written as a zero byte", set("gasPrice", "0x00"), "NON_CANONICAL_RLP"],
  ["a gas limit with a leading zero", set("gasLimit", "0x000f4240"), "NON_CANONICAL_RLP"],
  ["a value of 0 written as a zero byte", set("value", "0x00"), "NON_CANONICAL_RLP"],
  ["a nonce of nine bytes", set("nonce", tooLong(9)), "MALFORMED_TRANSACTION"],
  ["a gas limit of nine bytes", set("gasLimit", tooLong(9)), "MALFORMED_TRANSACTION"],
  ["a gas price of 33 bytes", set("gasPrice", tooLong(33)), "MALFORMED_TRANSACTION"],
  ["a value of 33 bytes", set("value", tooLong(33)), "MALFORMED_TRANSACTION"],
  ["the nonce 2^64 - 1 (EIP-2681)", set("nonce", integer(MAX_UINT64)), "NONCE_OUT_OF_RANGE"],
  ["a list for its data", set("data", []), "MALFORMED_RLP"],
  ["a tenth field", (items) => [...items, "0x"], "MALFORMED_RLP"],
  ["no signature: six fields", drop(3), "MALFORMED_RLP"],
  [
    "no signature: r and s are 0",
    (items) => [...items.slice(0, -3), "0x0899", "0x", "0x"],
    "INVALID_SIGNATURE",
  ],
  ["r = 0", set("r", "0x"), "INVALID_SIGNATURE"],
  ["r = n", set("r", integer(CURVE_ORDER)), "INVALID_SIGNATURE"],
  ["s = 0", set("s", "0x"), "INVALID_SIGNATURE"],
  ["s = n", set("s", integer(CURVE_ORDER)), "INVALID_SIGNATURE"],
  ["s = n/2 + 1 (EIP-2)", set("s", integer(CURVE_ORDER / 2n + 1n)), "HIGH_S_SIGNATURE"],
  ["the high-s twin of its signature (EIP-2)", highS, "HIGH_S_SIGNATURE"],
  ["v = 0", set("v", "0x"), "INVALID_SIGNATURE"],
  ["v = 26", set("v", "0x1a"), "INVALID_SIGNATURE"],
  ["v = 29", set("v", "0x1d"), "INVALID_SIGNATURE"],
  ["v = 34", set("v", "0x22"), "INVALID_SIGNATURE"],
];

const check = "wrapper decodes";
const clause = "D7 1, D2";
const inner = innerTx().bytes;
/** A wrapper, for the data of another one. */
const nested = wrapperTx(inner).bytes;

function decoding(): VectorCase[] {
  const legacy = UNDECODABLE.map(([name, edit, cause]) =>
    refused({ name: `wrapper with ${name}`, clause, wrapper: { edit } }, check, "WRAPPER_INVALID", cause),
  );
  const typed: [string, Parameters<typeof wrapperTx>[1], string][] = [
    ["EIP-2930 wrapper with yParity 2", { type: 1, edit: set("v", "0x02") }, "INVALID_SIGNATURE"],
    [
      "EIP-1559 wrapper with a text for its access list",
      { type: 2, edit: set("accessList", "0x") },
      "MALFORMED_RLP",
    ],
    ["EIP-1559 wrapper with the high-s twin of its signature", { type: 2, edit: highS }, "HIGH_S_SIGNATURE"],
    ["EIP-4844 wrapper", { type: 3 }, "UNSUPPORTED_TYPE"],
    ["EIP-7702 wrapper", { type: 4 }, "UNSUPPORTED_TYPE"],
  ];
  return [
    ...legacy,
    ...typed.map(([name, wrapper = {}, cause]) =>
      refused({ name, clause, wrapper }, check, "WRAPPER_INVALID", cause),
    ),
  ];
}

function typedFees(): VectorCase[] {
  const fees: [string, Parameters<typeof wrapperTx>[1]][] = [
    ["EIP-2930 wrapper with a gas price of 1 wei", { type: 1, gasPrice: 1n }],
    ["EIP-1559 wrapper with a fee cap of 1 wei", { type: 2, maxFeePerGas: 1n }],
    ["EIP-1559 wrapper with a tip of 1 wei and a fee cap of 0", { type: 2, maxPriorityFeePerGas: 1n }],
  ];
  // "legacy or of zero fees" is part of the first check: typed wrappers with a fee come no further.
  return fees.map(([name, wrapper = {}]) =>
    refused({ name, clause: "D7 1", wrapper }, check, "WRAPPER_NON_ZERO_GAS_PRICE"),
  );
}

function signatures(): VectorCase[] {
  const wrongChain: [string, Parameters<typeof wrapperTx>[1]][] = [
    ["wrapper signed for chain 988", { chainId: 988n }],
    ["wrapper signed for chain 2200", { chainId: 2_200n }],
    ["wrapper signed for chain 2202", { chainId: 2_202n }],
    ["wrapper signed for chain 0", { chainId: 0n }],
    ["wrapper signed for any chain, from before EIP-155", { chainId: null }],
    ["EIP-2930 wrapper signed for chain 988", { type: 1, chainId: 988n }],
    ["EIP-1559 wrapper signed for chain 0", { type: 2, chainId: 0n }],
  ];
  return [
    ...wrongChain.map(([name, wrapper = {}]) =>
      refused({ name, clause: "D7 2", wrapper }, "wrapper signature", "WRAPPER_WRONG_CHAIN_ID"),
    ),
    refused(
      {
        name: "wrapper whose r is not the x coordinate of a point",
        clause: "D7 2",
        wrapper: { edit: set("r", NO_POINT) },
      },
      "wrapper signature",
      "WRAPPER_INVALID_SIGNATURE",
      "INVALID_SIGNATURE",
    ),
    refused(
      {
        name: "EIP-1559 wrapper whose r is not the x coordinate of a point",
        clause: "D7 2",
        wrapper: { type: 2, edit: set("r", NO_POINT) },
      },
      "wrapper signature",
      "WRAPPER_INVALID_SIGNATURE",
      "INVALID_SIGNATURE",
    ),
  ];
}

function registration(): VectorCase[] {
  const cases: [string, Omit<Parameters<typeof refused>[0], "name" | "clause">][] = [
    ["wrapper of an account that is not a waiver", { wrapper: { signer: UNREGISTERED_ACCOUNT } }],
    ["wrapper that the user signed alone", { wrapper: { signer: USER } }],
    ["wrapper of a validator that is not a waiver", { wrapper: { signer: VALIDATOR } }],
    ["wrapper with the other parity, which recovers to another account", { wrapper: { edit: otherParity } }],
    ["wrapper whose nonce was changed after signing", { wrapper: { edit: set("nonce", "0x04") } }],
    [
      "wrapper whose inner was exchanged after signing",
      { wrapper: { edit: set("data", innerTx({ value: 1n }).bytes) } },
    ],
    ["EIP-1559 wrapper of a waiver where no waiver is registered", { registry: {}, wrapper: { type: 2 } }],
    [
      "wrapper of a waiver that was revoked, while the other one stays",
      { registry: { [addressOf(OTHER_WAIVER)]: registry()[addressOf(OTHER_WAIVER)] ?? [] } },
    ],
  ];
  return cases.map(([name, rest]) =>
    refused({ name, clause: "D7 3", ...rest }, "waiver registered", "WAIVER_NOT_REGISTERED"),
  );
}

function priceAndValue(): VectorCase[] {
  const highest = 2n ** 256n - 1n;
  const price = [1n, 1_000_000_000n, highest].map((gasPrice) =>
    refused(
      { name: `wrapper with a gas price of ${gasPrice} wei`, clause: "D7 4", wrapper: { gasPrice } },
      "wrapper gas price",
      "WRAPPER_NON_ZERO_GAS_PRICE",
    ),
  );
  const value = [1n, highest].map((wei) =>
    refused(
      { name: `wrapper with a value of ${wei} wei`, clause: "D7 5", wrapper: { value: wei } },
      "wrapper value",
      "WRAPPER_NON_ZERO_VALUE",
    ),
  );
  const typed = ([1, 2] as const).map((type) =>
    refused(
      { name: `wrapper of type ${type} with a value of 1 wei`, clause: "D7 5", wrapper: { type, value: 1n } },
      "wrapper value",
      "WRAPPER_NON_ZERO_VALUE",
    ),
  );
  return [...price, ...value, ...typed];
}

export const wrapperCases = (): VectorCase[] => [
  ...decoding(),
  ...typedFees(),
  ...signatures(),
  ...registration(),
  ...priceAndValue(),
  refused(
    {
      name: "wrapper of an account that is not a waiver, around a wrapper",
      clause: "D7 3",
      data: nested,
      wrapper: { signer: UNREGISTERED_ACCOUNT },
    },
    "waiver registered",
    "WAIVER_NOT_REGISTERED",
  ),
];
