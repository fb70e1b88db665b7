import { crypto as defaultCrypto } from "../crypto/crypto.js";
import type { Crypto } from "../crypto/cryptoBackend.js";
import { bytesEqual, bytesToHex, hexToBytes, InvalidHexError } from "../encoding/hex.js";
import { encodeRlp, RlpReader } from "../encoding/rlp.js";
import { MARKER_ADDRESS } from "../network.js";
import { assertVerdict } from "../policy/AllowedTarget.js";
import type { Policy } from "../policy/policySets.js";
import { everyPolicy } from "../policy/policySets.js";
import { ProtocolError } from "../protocolError.js";
import { decodeTransaction } from "./decodeTransaction.js";
import { intrinsicGas } from "./intrinsicGas.js";
import {
  hashTransaction,
  highestGasPrice,
  recoverSender,
  type SignedTransaction,
} from "./SignedTransaction.js";
import { DEFAULT_MAX_WRAPPER_BYTES, maxDataLengthFor, maxWrapperLength } from "./wrapperLength.js";

/** The user's signed transaction: replay-protected, so its chain is always known (D1). */
export type InnerTx = SignedTransaction & { readonly chainId: bigint };

/**
 * The forms of a typed InnerTx in a wrapper's data (D1): the EIP-2718 envelope as it was signed, or an RLP string that
 * holds it, which is what go-ethereum's RLP encoder makes of a typed transaction. A legacy InnerTx has one form alone.
 */
export const INNER_ENCODINGS = ["envelope", "rlp"] as const;
export type InnerEncoding = (typeof INNER_ENCODINGS)[number];

/**
 * Decodes an InnerTx from its signed bytes (D1, D2), or from an RLP string that holds the envelope of a typed one. The
 * `raw` of the result, and so its hash, is the envelope in either case.
 * @throws {@link ProtocolError} of code `PARSE_ERROR` or `VALIDATION_FAILED`, and nothing else.
 * @example
 * ```ts
 * const inner = decodeInnerTx(hexToBytes(signedHex));
 * console.log(inner.chainId, inner.nonce);
 * ```
 */
export function decodeInnerTx(raw: Uint8Array): InnerTx {
  const tx = decodeTransaction(envelopeOf(raw));
  assertReplayProtected(tx);
  return tx;
}

/**
 * Encodes an InnerTx as it travels in a wrapper's data (D1).
 * @example
 * ```ts
 * const data = encodeInnerTx(parseInnerTx(signedHex), "rlp");
 * ```
 */
export function encodeInnerTx(inner: InnerTx, encoding: InnerEncoding = "envelope"): Uint8Array {
  return encoding === "rlp" && inner.type !== "legacy" ? encodeRlp(inner.raw) : inner.raw;
}

/** Takes the envelope out of an RLP string; other bytes are returned unchanged. */
function envelopeOf(raw: Uint8Array): Uint8Array {
  const first = raw[0] ?? 0;
  if (first < 0x80 || first >= 0xc0) return raw;
  const reader = new RlpReader(raw);
  const envelope = reader.bytes("the string around the transaction");
  reader.finish("the string around the transaction");
  const type = envelope[0];
  // RLP writes a legacy transaction as a list, never as a string.
  if (type !== undefined && type < 0x80) return envelope;
  throw new ProtocolError("MALFORMED_RLP", "the RLP string holds no typed transaction", { offset: 0 });
}

/**
 * Asserts that the signature names its chain: one from before EIP-155 replays on other chains (D1).
 * @throws {@link ProtocolError} `UNPROTECTED_SIGNATURE`.
 * @example
 * ```ts
 * const tx = decodeTransaction(hexToBytes(signedHex));
 * assertReplayProtected(tx);
 * ```
 */
export function assertReplayProtected(tx: SignedTransaction): asserts tx is InnerTx {
  if (tx.chainId !== undefined) return;
  throw new ProtocolError(
    "UNPROTECTED_SIGNATURE",
    "the signature names no chain (from before EIP-155) and would replay on others; sign with a chainId",
  );
}

/**
 * Decodes an InnerTx from the text in a request: 0x-prefixed hex.
 * @throws {@link ProtocolError} of code `PARSE_ERROR` or `VALIDATION_FAILED`, and nothing else.
 * @example
 * ```ts
 * const inner = parseInnerTx(signedHex);
 * ```
 */
export function parseInnerTx(text: string): InnerTx {
  return decodeInnerTx(parseHex(text));
}

function parseHex(text: string): Uint8Array {
  try {
    return hexToBytes(text);
  } catch (error) {
    if (!(error instanceof InvalidHexError)) throw error;
    throw new ProtocolError(
      text === "" ? "EMPTY_TRANSACTION" : "INVALID_HEX",
      text === "" ? "the transaction is an empty string" : `the transaction is not hex: ${error.message}`,
      text === "" ? {} : { character: error.at },
    );
  }
}

/** The rules of a network and a waiver on an InnerTx (D3). */
export interface InnerTxRules {
  readonly chainId: bigint;
  /** The highest gas limit. */
  readonly maxGasLimit: bigint;
  /** The most bytes of calldata. */
  readonly maxDataLength: number;
  /** The most bytes of the wrapper around the InnerTx; no limit by default. */
  readonly maxWrapperBytes?: number;
  readonly policy: Policy;
  /** The name of the policy in errors; `"the waiver's policy"` by default. */
  readonly policyName?: string;
  /** Narrows the policy for this sender (D25). */
  readonly scope?: Policy | undefined;
  /** The name of the scope in errors; `"the sender's scope"` by default. */
  readonly scopeName?: string;
}

/** The default limits of D3: in gas, and in bytes of calldata. */
export const DEFAULT_MAX_GAS_LIMIT = 10_000_000n;
export const DEFAULT_MAX_DATA_LENGTH: number = /* @__PURE__ */ maxDataLengthFor(DEFAULT_MAX_WRAPPER_BYTES);

/** An InnerTx that keeps every rule, with what checking the rules computed. */
export interface ValidInnerTx {
  readonly tx: InnerTx;
  /** The signer's address, 20 bytes. */
  readonly sender: Uint8Array;
  /** The hash by which the client knows the transaction (D6), 32 bytes. */
  readonly hash: Uint8Array;
  /** The called contract, 20 bytes. */
  readonly to: Uint8Array;
}

/**
 * Asserts the rules on an InnerTx in the order of D3, cheap ones first.
 * @throws {@link ProtocolError} of code `VALIDATION_FAILED`, for the first rule that fails.
 * @example
 * ```ts
 * const { sender, hash } = assertInnerTx(parseInnerTx(signedHex), {
 *   chainId: CHAIN_IDS.testnet,
 *   maxGasLimit: DEFAULT_MAX_GAS_LIMIT,
 *   maxDataLength: DEFAULT_MAX_DATA_LENGTH,
 *   policy: compilePolicy([{ address: "*" }]),
 * });
 * ```
 */
export function assertInnerTx(
  tx: InnerTx,
  rules: InnerTxRules,
  crypto: Crypto = defaultCrypto,
): ValidInnerTx {
  const to = assertInnerTxFields(tx, rules);
  // Recovering the sender costs most, so it comes last.
  const sender = recoverSender(tx, crypto);
  return { tx, sender, hash: hashTransaction(tx, crypto), to };
}

/**
 * Asserts the rules on an InnerTx but that on its signature, whose bytes only count for the length.
 * @returns the called contract, 20 bytes.
 * @throws {@link ProtocolError} of code `VALIDATION_FAILED`, for the first rule that fails.
 * @example
 * ```ts
 * const to = assertInnerTxFields(parseInnerTx(signedHex), rules);
 * ```
 */
export function assertInnerTxFields(tx: InnerTx, rules: InnerTxRules): Uint8Array {
  assertChainId(tx, rules.chainId);
  assertZeroGasPrice(tx);
  const to = assertCall(tx);
  assertGasLimit(tx, rules.maxGasLimit);
  assertDataLength(tx, rules.maxDataLength);
  assertWrapperFits(tx, rules.maxWrapperBytes);
  // docs/protocol.md#rule-3-target-and-selector (D4).
  const { policy, scope, policyName = "the waiver's policy", scopeName = "the sender's scope" } = rules;
  const allowedSelectors = () => (scope ? everyPolicy([policy, scope]) : policy).selectorsFor(to);
  assertVerdict(policy.check(to, tx.data), to, tx.data, policyName, allowedSelectors);
  if (scope) assertVerdict(scope.check(to, tx.data), to, tx.data, scopeName, allowedSelectors);
  return to;
}

/**
 * Asserts that the InnerTx is signed for this chain: 988 for mainnet, 2201 for testnet (D27).
 * @throws {@link ProtocolError} `WRONG_CHAIN_ID`.
 * @example
 * ```ts
 * assertChainId(inner, CHAIN_IDS.testnet);
 * ```
 */
export function assertChainId(tx: InnerTx, chainId: bigint): void {
  if (tx.chainId !== chainId) {
    throw new ProtocolError(
      "WRONG_CHAIN_ID",
      `the transaction is signed for chain ${tx.chainId}, this is chain ${chainId}`,
      { chainId: tx.chainId.toString(), expected: chainId.toString() },
    );
  }
}

/**
 * Asserts that the InnerTx pays nothing (docs/protocol.md#rule-2-gas-price-zero): both fees of EIP-1559 count
 * (D1).
 * @throws {@link ProtocolError} `NON_ZERO_GAS_PRICE`.
 * @example
 * ```ts
 * assertZeroGasPrice(inner);
 * ```
 */
export function assertZeroGasPrice(tx: InnerTx): void {
  const gasPrice = highestGasPrice(tx);
  if (gasPrice !== 0n) {
    throw new ProtocolError(
      "NON_ZERO_GAS_PRICE",
      `the transaction's gas price is ${gasPrice} wei; a gas-waived transaction is signed with 0`,
      { gasPrice: gasPrice.toString() },
    );
  }
}

/**
 * Asserts that the InnerTx calls a contract, and not the marker: no wrapper inside a wrapper (D3).
 * @returns the called contract, 20 bytes.
 * @throws {@link ProtocolError} `CONTRACT_CREATION` or `TARGET_IS_MARKER`.
 * @example
 * ```ts
 * const to = assertCall(inner);
 * ```
 */
export function assertCall(tx: InnerTx): Uint8Array {
  if (tx.to === undefined) {
    throw new ProtocolError(
      "CONTRACT_CREATION",
      "the transaction has no `to`: contract creation is not waived",
    );
  }
  if (bytesEqual(tx.to, MARKER_ADDRESS)) {
    throw new ProtocolError(
      "TARGET_IS_MARKER",
      `the transaction goes to the marker address ${bytesToHex(MARKER_ADDRESS)}: send the InnerTx, not a wrapper`,
      { target: bytesToHex(MARKER_ADDRESS) },
    );
  }
  return tx.to;
}

/**
 * Asserts that the gas limit covers the transaction's intrinsic gas and stays within the service's limit (D3).
 */
function assertGasLimit(tx: InnerTx, maxGasLimit: bigint): void {
  assertIntrinsicGas(tx);
  if (tx.gasLimit > maxGasLimit) {
    throw new ProtocolError(
      "GAS_LIMIT_TOO_HIGH",
      `gas limit ${tx.gasLimit} is above the limit of ${maxGasLimit}`,
      { gasLimit: tx.gasLimit.toString(), maxGasLimit: maxGasLimit.toString() },
    );
  }
}

/**
 * Asserts that the gas limit covers the transaction's own intrinsic gas (EIP-2028, 2930, 7623).
 * @throws {@link ProtocolError} `GAS_LIMIT_TOO_LOW`.
 * @example
 * ```ts
 * assertIntrinsicGas(inner);
 * ```
 */
export function assertIntrinsicGas(tx: InnerTx): void {
  const needed = intrinsicGas(tx);
  if (tx.gasLimit < needed) {
    throw new ProtocolError(
      "GAS_LIMIT_TOO_LOW",
      `gas limit ${tx.gasLimit} is below the transaction's intrinsic gas of ${needed}`,
      { gasLimit: tx.gasLimit.toString(), intrinsicGas: needed.toString() },
    );
  }
}

/** Asserts that the calldata has at most `maxDataLength` bytes (D3). */
function assertDataLength(tx: InnerTx, maxDataLength: number): void {
  if (tx.data.length > maxDataLength) {
    throw new ProtocolError(
      "DATA_TOO_LONG",
      `calldata has ${tx.data.length} bytes, above the limit of ${maxDataLength}`,
      { bytes: tx.data.length, maxDataLength },
    );
  }
}

/** Asserts that nodes take the wrapper (D3): its size counts the whole InnerTx, with its access list. */
function assertWrapperFits({ raw }: InnerTx, maxWrapperBytes = Number.POSITIVE_INFINITY): void {
  const wrapperBytes = maxWrapperLength(raw.length);
  if (wrapperBytes > maxWrapperBytes) {
    throw new ProtocolError(
      "TRANSACTION_TOO_LARGE",
      `the transaction has ${raw.length} bytes, and its wrapper up to ${wrapperBytes}, above the limit of ${maxWrapperBytes}`,
      { bytes: raw.length, wrapperBytes, maxWrapperBytes },
    );
  }
}
