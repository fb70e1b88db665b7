import { recoverAddress } from "../accounts/signature.js";
import { crypto as defaultCrypto } from "../crypto/crypto.js";
import type { Crypto, Signature } from "../crypto/cryptoBackend.js";
import { bytesToBigInt, concatBytes } from "../encoding/hex.js";
import { encodeRlp, type RlpItem } from "../encoding/rlp.js";

/** The access list of EIP-2930: the addresses and storage keys that a transaction announces. */
export type AccessList = readonly {
  /** 20 bytes. */
  readonly address: Uint8Array;
  /** 32 bytes each. */
  readonly storageKeys: readonly Uint8Array[];
}[];

interface CommonFields {
  /** Below 2^64 - 1 (EIP-2681). */
  readonly nonce: bigint;
  /** Below 2^64. */
  readonly gasLimit: bigint;
  /** 20 bytes; undefined creates a contract. */
  readonly to: Uint8Array | undefined;
  /** The value in wei, below 2^256. */
  readonly value: bigint;
  readonly data: Uint8Array;
}

/** A transaction before its signature: the fields that are hashed and signed. */
export type UnsignedTransaction =
  | (CommonFields & {
      readonly type: "legacy";
      /** Undefined for a signature from before EIP-155, which holds on every chain. */
      readonly chainId: bigint | undefined;
      readonly gasPrice: bigint;
    })
  | (CommonFields & {
      readonly type: "eip2930";
      readonly chainId: bigint;
      readonly gasPrice: bigint;
      readonly accessList: AccessList;
    })
  | (CommonFields & {
      readonly type: "eip1559";
      readonly chainId: bigint;
      readonly maxPriorityFeePerGas: bigint;
      readonly maxFeePerGas: bigint;
      readonly accessList: AccessList;
    });

/** A decoded signed transaction: legacy, EIP-2930 or EIP-1559. */
export type SignedTransaction = UnsignedTransaction & {
  readonly signature: Signature;
  /** The signed bytes exactly as they travel: an RLP list for legacy, else the EIP-2718 envelope. */
  readonly raw: Uint8Array;
};

/** The EIP-2718 type bytes of the typed transactions that the protocol knows. */
export const TYPE_BYTES = { eip2930: 0x01, eip1559: 0x02 } as const;

function callFields(tx: CommonFields): RlpItem[] {
  return [tx.gasLimit, tx.to ?? new Uint8Array(0), tx.value, tx.data];
}

function accessListItem(accessList: AccessList): RlpItem {
  return accessList.map(({ address, storageKeys }) => [address, storageKeys]);
}

/** Lists the fields in wire order, without the signature. */
function unsignedFields(tx: UnsignedTransaction): RlpItem[] {
  switch (tx.type) {
    case "legacy":
      return [tx.nonce, tx.gasPrice, ...callFields(tx)];
    case "eip2930":
      return [tx.chainId, tx.nonce, tx.gasPrice, ...callFields(tx), accessListItem(tx.accessList)];
    case "eip1559":
      return [
        tx.chainId,
        tx.nonce,
        tx.maxPriorityFeePerGas,
        tx.maxFeePerGas,
        ...callFields(tx),
        accessListItem(tx.accessList),
      ];
  }
}

function envelope(type: UnsignedTransaction["type"], fields: RlpItem[]): Uint8Array {
  const payload = encodeRlp(fields);
  return type === "legacy" ? payload : concatBytes(Uint8Array.of(TYPE_BYTES[type]), payload);
}

/**
 * Returns the 32-byte hash that the sender signs.
 * @example
 * ```ts
 * const signature = await waiver.sign(signingHash(wrapInnerTx(inner, { nonce: 7n })));
 * ```
 */
export function signingHash(tx: UnsignedTransaction, crypto: Crypto = defaultCrypto): Uint8Array {
  return crypto.keccak256(signingMessage(tx));
}

/**
 * Returns the bytes whose hash the sender signs, for a custody that hashes by itself.
 * @example
 * ```ts
 * const unsigned = wrapInnerTx(inner, { nonce: 7n });
 * const signature = await waiver.sign(signingHash(unsigned), signingMessage(unsigned));
 * ```
 */
export function signingMessage(tx: UnsignedTransaction): Uint8Array {
  const fields = unsignedFields(tx);
  if (tx.type === "legacy" && tx.chainId !== undefined) fields.push(tx.chainId, 0n, 0n);
  return envelope(tx.type, fields);
}

/**
 * Encodes a transaction with its signature: the bytes that `decodeTransaction` reads. It checks nothing.
 * @example
 * ```ts
 * const raw = encodeTransaction(unsigned, crypto.sign(signingHash(unsigned), privateKey));
 * ```
 */
export function encodeTransaction(tx: UnsignedTransaction, signature: Signature): Uint8Array {
  const r = bytesToBigInt(signature.compact.subarray(0, 32));
  const s = bytesToBigInt(signature.compact.subarray(32));
  const fields = unsignedFields(tx);
  if (tx.type !== "legacy") fields.push(BigInt(signature.yParity), r, s);
  else
    fields.push(BigInt(signature.yParity) + (tx.chainId === undefined ? 27n : 35n + 2n * tx.chainId), r, s);
  return envelope(tx.type, fields);
}

/**
 * Signs a transaction with a private key of 32 bytes.
 * @example
 * ```ts
 * const signed = signTransaction(
 *   { type: "legacy", chainId: 2201n, nonce: 0n, gasPrice: 0n, gasLimit: 60_000n, to: token, value: 0n, data },
 *   privateKey,
 * );
 * console.log(bytesToHex(signed.raw));
 * ```
 */
export function signTransaction(
  tx: UnsignedTransaction,
  privateKey: Uint8Array,
  crypto: Crypto = defaultCrypto,
): SignedTransaction {
  const signature = crypto.sign(signingHash(tx, crypto), privateKey);
  return { ...tx, signature, raw: encodeTransaction(tx, signature) };
}

/**
 * Returns the transaction's hash (32 bytes): Keccak-256 of its signed bytes.
 * @example
 * ```ts
 * console.log(bytesToHex(hashTransaction(parseInnerTx(signedHex))));
 * ```
 */
export function hashTransaction(tx: SignedTransaction, crypto: Crypto = defaultCrypto): Uint8Array {
  return crypto.keccak256(tx.raw);
}

/**
 * Returns the address (20 bytes) whose key signed the transaction.
 * @throws {@link ProtocolError} `INVALID_SIGNATURE` if no key can have made the signature.
 * @example
 * ```ts
 * console.log(checksumAddress(recoverSender(parseInnerTx(signedHex))));
 * ```
 */
export function recoverSender(tx: SignedTransaction, crypto: Crypto = defaultCrypto): Uint8Array {
  return recoverAddress(signingHash(tx, crypto), tx.signature, crypto);
}

/**
 * Returns the highest price per gas that the transaction can pay, in wei. For EIP-1559 that is the higher one of the two
 * fees; for a gas-waived transaction it is 0.
 * @example
 * ```ts
 * console.log(highestGasPrice(inner)); // 0n
 * ```
 */
export function highestGasPrice(tx: UnsignedTransaction): bigint {
  if (tx.type !== "eip1559") return tx.gasPrice;
  return tx.maxFeePerGas > tx.maxPriorityFeePerGas ? tx.maxFeePerGas : tx.maxPriorityFeePerGas;
}
