import { assertCanonicalSignature } from "../accounts/signature.js";
import { STABLE } from "../chains/stable.js";
import type { Signature } from "../crypto/cryptoBackend.js";
import { RlpReader } from "../encoding/rlp.js";
import { ProtocolError } from "../protocolError.js";
import { type AccessList, type SignedTransaction, TYPE_BYTES } from "./SignedTransaction.js";

const UINT64_BYTES = 8;
const UINT256_BYTES = 32;
const MAX_NONCE = 2n ** 64n - 1n;

/**
 * Decodes the bytes of one signed transaction in strictly canonical form (D2). Byte fields are views of `raw`.
 * @throws {@link ProtocolError} with code `PARSE_ERROR` for bytes that are not a transaction, and `VALIDATION_FAILED`
 * for an unsupported type, a nonce of 2^64-1, or a signature whose r, s or v is out of range, or whose s is high.
 * @example
 * ```ts
 * const tx = decodeTransaction(hexToBytes(signedHex));
 * console.log(tx.type, tx.nonce, bytesToHex(recoverSender(tx)));
 * ```
 */
export function decodeTransaction(raw: Uint8Array): SignedTransaction {
  const first = raw[0];
  if (first === undefined) throw new ProtocolError("EMPTY_TRANSACTION", "the transaction has no bytes");
  if (first >= 0xc0) return assertRanges(decodeLegacy(raw));
  if (first === TYPE_BYTES.eip2930) return assertRanges(decodeTyped(raw, "eip2930"));
  if (first === TYPE_BYTES.eip1559) return assertRanges(decodeTyped(raw, "eip1559"));
  if (first < 0x80) throw unsupportedType(raw, first);
  throw new ProtocolError(
    "MALFORMED_RLP",
    `the first byte 0x${first.toString(16)} begins neither a list nor a typed transaction`,
    { offset: 0, firstByte: first },
  );
}

/**
 * The refusal of EIP-4844 (3), EIP-7702 (4), the public chain's CustomTx (0x3f) and any other type (D1).
 * @throws {@link ProtocolError} of code `PARSE_ERROR` if no well-formed list follows the type byte to the end: such
 * bytes are not a transaction of any type (D2).
 */
function unsupportedType(raw: Uint8Array, type: number): ProtocolError {
  const name = `the list behind the type byte 0x${type.toString(16).padStart(2, "0")}`;
  const outer = new RlpReader(raw, 1);
  outer.skipList(name);
  outer.finish(name);
  if (type === STABLE.customTxType) {
    return new ProtocolError(
      "CUSTOM_TX_UNSUPPORTED",
      `transaction type ${type} (CustomTx, with two-dimensional nonces) is not supported, because its format is not published; use legacy (EIP-155), EIP-2930 or EIP-1559`,
      { type },
    );
  }
  return new ProtocolError(
    "UNSUPPORTED_TYPE",
    `transaction type ${type} is not supported; use legacy (EIP-155), EIP-2930 or EIP-1559`,
    { type },
  );
}

function decodeLegacy(raw: Uint8Array): SignedTransaction {
  const outer = new RlpReader(raw);
  const fields = outer.list("the transaction");
  outer.finish("the transaction");
  const nonce = fields.integer("nonce", UINT64_BYTES);
  const gasPrice = fields.integer("gasPrice", UINT256_BYTES);
  const callFields = readCallFields(fields);
  const v = fields.integer("v", UINT256_BYTES);
  const compact = readCompactSignature(fields);
  fields.finish("the last field");
  const { chainId, yParity } = splitV(v);
  return { type: "legacy", chainId, nonce, gasPrice, ...callFields, signature: { compact, yParity }, raw };
}

/** Splits v by EIP-155: v = 35 + 2·chainId + parity. The values 27 and 28 are from before it. */
function splitV(v: bigint): { chainId: bigint | undefined; yParity: 0 | 1 } {
  if (v === 27n || v === 28n) return { chainId: undefined, yParity: v === 27n ? 0 : 1 };
  if (v >= 35n) return { chainId: (v - 35n) / 2n, yParity: (v - 35n) % 2n === 0n ? 0 : 1 };
  throw new ProtocolError("INVALID_SIGNATURE", `v is ${v}, which is neither 27, 28 nor at least 35`, {
    v: v.toString(),
  });
}

function decodeTyped(raw: Uint8Array, type: "eip2930" | "eip1559"): SignedTransaction {
  const outer = new RlpReader(raw, 1);
  const fields = outer.list("the transaction");
  outer.finish("the transaction");
  const chainId = fields.integer("chainId", UINT256_BYTES);
  const nonce = fields.integer("nonce", UINT64_BYTES);
  const fees = readFees(fields, type);
  const callFields = readCallFields(fields);
  const accessList = readAccessList(fields);
  const parity = fields.integer("yParity", UINT256_BYTES);
  const compact = readCompactSignature(fields);
  fields.finish("the last field");
  if (parity > 1n) {
    throw new ProtocolError("INVALID_SIGNATURE", `yParity is ${parity}, which is neither 0 nor 1`, {
      yParity: parity.toString(),
    });
  }
  const signature: Signature = { compact, yParity: parity === 0n ? 0 : 1 };
  return { ...fees, chainId, nonce, ...callFields, accessList, signature, raw };
}

function readFees(fields: RlpReader, type: "eip2930" | "eip1559") {
  if (type === "eip2930") return { type, gasPrice: fields.integer("gasPrice", UINT256_BYTES) };
  return {
    type,
    maxPriorityFeePerGas: fields.integer("maxPriorityFeePerGas", UINT256_BYTES),
    maxFeePerGas: fields.integer("maxFeePerGas", UINT256_BYTES),
  };
}

function readCallFields(fields: RlpReader) {
  const gasLimit = fields.integer("gasLimit", UINT64_BYTES);
  const to = fields.bytes("to");
  if (to.length !== 0 && to.length !== 20) {
    throw new ProtocolError("MALFORMED_TRANSACTION", `to has ${to.length} bytes; an address has 20`, {
      field: "to",
      bytes: to.length,
    });
  }
  const value = fields.integer("value", UINT256_BYTES);
  return { gasLimit, to: to.length === 0 ? undefined : to, value, data: fields.bytes("data") };
}

function readAccessList(fields: RlpReader): AccessList {
  const entries: { address: Uint8Array; storageKeys: Uint8Array[] }[] = [];
  const list = fields.list("accessList");
  while (!list.done) {
    const entry = list.list("an entry of accessList");
    const address = readFixed(entry, "an address of accessList", 20);
    const keys = entry.list("the storage keys of accessList");
    const storageKeys: Uint8Array[] = [];
    while (!keys.done) storageKeys.push(readFixed(keys, "a storage key of accessList", 32));
    entry.finish("an entry of accessList");
    entries.push({ address, storageKeys });
  }
  return entries;
}

function readFixed(reader: RlpReader, name: string, length: number): Uint8Array {
  const bytes = reader.bytes(name);
  if (bytes.length !== length) {
    throw new ProtocolError("MALFORMED_TRANSACTION", `${name} has ${bytes.length} bytes, not ${length}`, {
      bytes: bytes.length,
      expected: length,
    });
  }
  return bytes;
}

function readCompactSignature(fields: RlpReader): Uint8Array {
  const compact = new Uint8Array(64);
  putInteger(fields, "r", compact.subarray(0, 32));
  putInteger(fields, "s", compact.subarray(32));
  return compact;
}

function putInteger(fields: RlpReader, name: "r" | "s", target: Uint8Array): void {
  const bytes = fields.integerBytes(name, target.length);
  target.set(bytes, target.length - bytes.length);
}

/** Asserts the ranges of D2: nonce < 2^64-1 (EIP-2681), 0 < r < n, 0 < s ≤ n/2 (EIP-2). */
function assertRanges(tx: SignedTransaction): SignedTransaction {
  if (tx.nonce >= MAX_NONCE) {
    throw new ProtocolError("NONCE_OUT_OF_RANGE", `nonce ${tx.nonce} is not below 2^64-1`, {
      nonce: tx.nonce.toString(),
    });
  }
  assertCanonicalSignature(tx.signature);
  return tx;
}
