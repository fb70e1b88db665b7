import { deepStrictEqual, ok, strictEqual } from "node:assert";
import {
  assertInnerTx,
  assertWrapper,
  bytesToHex,
  type ChainView,
  compilePolicy,
  DEFAULT_MAX_DATA_LENGTH,
  DEFAULT_MAX_GAS_LIMIT,
  decodeInnerTx,
  decodeTransaction,
  encodeTransaction,
  MARKER_ADDRESS,
  ProtocolError,
  parseInnerTx,
  type SignedTransaction,
} from "@gas-waiver/protocol";
import fc from "fast-check";
import {
  CURVE_ORDER,
  HIGHEST_S,
  hostileBytes,
  mutation,
  ORACLE_DOMAIN,
  signature,
  transaction,
  UINT64,
  UINT256,
  WHOLE_DOMAIN,
} from "./arbitraries.js";
import { reasonOf } from "./encoding.js";
import { type Law, law } from "./law.js";
import { FAULTS, withFault } from "./nonCanonicalRlp.js";
import { fieldsOf, ORACLES } from "./oracles.js";
import { treeEdit } from "./treeEdits.js";

const rawOf = (domain: typeof WHOLE_DOMAIN) =>
  fc
    .record({ tx: transaction(domain), signature })
    .map(({ tx, signature }) => encodeTransaction(tx, signature));

const mutated = (domain: typeof WHOLE_DOMAIN) =>
  fc.tuple(rawOf(domain), fc.oneof(mutation, treeEdit)).map(([raw, mutate]) => mutate(raw));

const anyBytes = fc.oneof(mutated(WHOLE_DOMAIN), hostileBytes);

/** True if viem and ethers support the transaction's values. They refuse valid transactions outside of their range. */
function inOracleDomain(tx: SignedTransaction): boolean {
  const { chainId = 1n } = tx;
  const { nonce, minChainId, maxChainId } = ORACLE_DOMAIN;
  if (tx.nonce > nonce || chainId < minChainId || chainId > maxChainId) return false;
  return tx.type !== "eip1559" || tx.maxPriorityFeePerGas <= tx.maxFeePerGas;
}

/** The value of a decoder, or undefined if it refuses properly: with a ProtocolError of a fitting code. */
function accepted<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    ok(error.code === "PARSE_ERROR" || error.code === "VALIDATION_FAILED", error.code);
    ok(error.message.length > 0 && error.message.length < 1_000);
    return undefined;
  }
}

/** A chain on which every account is a waiver that may send anything. */
const openChain: ChainView = {
  chainId: 2201n,
  verificationGas: 10_000n,
  isWaiver: () => true,
  isAllowed: () => "allowed",
  nonceOf: () => 0n,
  codeOf: () => new Uint8Array(0),
  balanceOf: () => 2n ** 256n,
};

const wrapperAround = (data: Uint8Array) =>
  ({
    type: "legacy",
    chainId: 2201n,
    nonce: 0n,
    gasPrice: 0n,
    gasLimit: 2n ** 64n - 1n,
    to: MARKER_ADDRESS,
    value: 0n,
    data,
  }) as const;

const wrapperBytes = fc.oneof(
  anyBytes,
  fc
    .record({ data: anyBytes, signature })
    .map(({ data, signature }) => encodeTransaction(wrapperAround(data), signature)),
);

const hexish = fc
  .array(fc.constantFrom(..."0123456789abcdefABCDEFxX g\u0000é"), { maxLength: 40 })
  .map((characters) => `0x${characters.join("")}`);

const rules = {
  chainId: 2201n,
  maxGasLimit: DEFAULT_MAX_GAS_LIMIT,
  maxDataLength: DEFAULT_MAX_DATA_LENGTH,
  policy: compilePolicy([{ address: "*" }]),
};

export const MALFORMED_LAWS: readonly Law[] = [
  law(
    "the protocol rejects all that viem or ethers reject as malformed, and they decode all that it accepts to the same fields",
    { cases: 6_000 },
    mutated(ORACLE_DOMAIN),
    (raw) => {
      const tx = accepted(() => decodeTransaction(raw));
      if (tx === undefined || !inOracleDomain(tx)) return;
      for (const oracle of ORACLES) deepStrictEqual(oracle.decode(raw), fieldsOf(tx), oracle.name);
    },
  ),
  law(
    "encoding an accepted transaction gives the same bytes: each transaction has one encoding",
    { cases: 8_000 },
    anyBytes,
    (raw) => {
      const tx = accepted(() => decodeTransaction(raw));
      if (tx !== undefined) strictEqual(bytesToHex(encodeTransaction(tx, tx.signature)), bytesToHex(raw));
    },
  ),
  law("an accepted transaction is within the ranges of D2", { cases: 8_000 }, anyBytes, (raw) => {
    const tx = accepted(() => decodeTransaction(raw));
    if (tx === undefined) return;
    const { type, chainId = 0n, nonce, fees, gasLimit, to, value, accessList, r, s, yParity } = fieldsOf(tx);
    ok(nonce < UINT64 && gasLimit <= UINT64, "64 bits");
    for (const number of [chainId, value, ...fees]) ok(number >= 0n && number <= UINT256, "256 bits");
    ok(to === undefined || to.length === 42, "address");
    for (const [address, keys] of accessList) {
      ok(address.length === 42 && keys.every((key) => key.length === 66), "access list");
    }
    ok(r > 0n && r < CURVE_ORDER && s > 0n && s <= HIGHEST_S, "signature");
    ok(yParity === 0 || yParity === 1, "parity");
    ok(type === "legacy" || tx.chainId !== undefined, "chain");
  }),
  law(
    "a transaction with one item in a non-canonical form is refused as NON_CANONICAL_RLP",
    { cases: 4_000 },
    fc.record({ raw: rawOf(WHOLE_DOMAIN), fault: fc.constantFrom(...FAULTS), at: fc.nat({ max: 1_000 }) }),
    ({ raw, fault, at }) => {
      strictEqual(
        reasonOf(() => decodeTransaction(withFault(raw, fault, at))),
        "NON_CANONICAL_RLP",
      );
    },
  ),
  law("a decoder throws only ProtocolError, for any bytes", { cases: 5_000 }, anyBytes, (raw) => {
    const inner = accepted(() => decodeInnerTx(raw));
    strictEqual(inner === undefined, accepted(() => parseInnerTx(bytesToHex(raw))) === undefined);
    if (inner !== undefined) accepted(() => assertInnerTx(inner, rules));
  }),
  law(
    "parseInnerTx throws only ProtocolError, for any text",
    { cases: 4_000 },
    fc.oneof(hexish, fc.string({ unit: "binary", maxLength: 60 }), fc.string({ maxLength: 60 })),
    (text) => {
      accepted(() => parseInnerTx(text));
    },
  ),
  law(
    "the validators' rules throw only ProtocolError, and name the failed check",
    { cases: 4_000 },
    wrapperBytes,
    async (raw) => {
      try {
        await assertWrapper(raw, openChain);
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        strictEqual(typeof error.values.check, "string");
      }
    },
  ),
];
