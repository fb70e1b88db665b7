import {
  bytesToHex,
  type Signature,
  type SignedTransaction,
  type UnsignedTransaction,
} from "@gas-waiver/protocol";
import { Signature as EthersSignature, Transaction } from "ethers";
import {
  type Hex,
  parseTransaction,
  serializeTransaction,
  type TransactionSerializable,
  type TransactionSerialized,
} from "viem";

/** A transaction's fields in a form that makes the three libraries comparable. */
export interface Fields {
  readonly type: string;
  readonly chainId: bigint | undefined;
  readonly nonce: bigint;
  /** Gas price, or priority fee and maximum fee. */
  readonly fees: readonly bigint[];
  readonly gasLimit: bigint;
  readonly to: string | undefined;
  readonly value: bigint;
  readonly data: string;
  readonly accessList: readonly (readonly [string, readonly string[]])[];
  readonly r: bigint;
  readonly s: bigint;
  readonly yParity: number;
}

/** An independent implementation of Ethereum's transactions. */
export interface Oracle {
  readonly name: string;
  /** Throws if the library finds the bytes malformed. */
  decode(raw: Uint8Array): Fields;
  encode(tx: UnsignedTransaction, signature: Signature): Hex;
}

const half = (compact: Uint8Array, at: 0 | 32) => bytesToHex(compact.subarray(at, at + 32));

/** The fields of a transaction that the protocol package has decoded. */
export function fieldsOf(tx: SignedTransaction): Fields {
  return {
    type: tx.type,
    chainId: tx.chainId,
    nonce: tx.nonce,
    fees: tx.type === "eip1559" ? [tx.maxPriorityFeePerGas, tx.maxFeePerGas] : [tx.gasPrice],
    gasLimit: tx.gasLimit,
    to: tx.to && bytesToHex(tx.to),
    value: tx.value,
    data: bytesToHex(tx.data),
    accessList:
      tx.type === "legacy"
        ? []
        : tx.accessList.map(
            (entry) => [bytesToHex(entry.address), entry.storageKeys.map(bytesToHex)] as const,
          ),
    r: BigInt(half(tx.signature.compact, 0)),
    s: BigInt(half(tx.signature.compact, 32)),
    yParity: tx.signature.yParity,
  };
}

const hexAccessList = (tx: UnsignedTransaction) =>
  tx.type === "legacy"
    ? []
    : tx.accessList.map(({ address, storageKeys }) => ({
        address: bytesToHex(address),
        storageKeys: storageKeys.map(bytesToHex),
      }));

/** The transaction in viem's form. */
export function forViem(tx: UnsignedTransaction): TransactionSerializable {
  const common = {
    nonce: Number(tx.nonce),
    gas: tx.gasLimit,
    value: tx.value,
    data: bytesToHex(tx.data),
    to: tx.to && bytesToHex(tx.to),
  };
  if (tx.type === "legacy") {
    const { gasPrice } = tx;
    return {
      ...common,
      type: "legacy",
      gasPrice,
      ...(tx.chainId !== undefined && { chainId: Number(tx.chainId) }),
    };
  }
  const typed = { ...common, chainId: Number(tx.chainId), accessList: hexAccessList(tx) };
  if (tx.type === "eip2930") return { ...typed, type: "eip2930", gasPrice: tx.gasPrice };
  const { maxFeePerGas, maxPriorityFeePerGas } = tx;
  return { ...typed, type: "eip1559", maxFeePerGas, maxPriorityFeePerGas };
}

/** The transaction in ethers' form. */
export function forEthers(tx: UnsignedTransaction): Transaction {
  const result = Transaction.from({
    type: { legacy: 0, eip2930: 1, eip1559: 2 }[tx.type],
    chainId: tx.chainId ?? 0n,
    nonce: Number(tx.nonce),
    gasLimit: tx.gasLimit,
    value: tx.value,
    data: bytesToHex(tx.data),
    ...(tx.to && { to: bytesToHex(tx.to) }),
    ...(tx.type === "eip1559"
      ? { maxFeePerGas: tx.maxFeePerGas, maxPriorityFeePerGas: tx.maxPriorityFeePerGas }
      : { gasPrice: tx.gasPrice }),
    ...(tx.type !== "legacy" && { accessList: hexAccessList(tx) }),
  });
  return result;
}

/** The result of viem's parser for all types. It omits fields that are 0 or empty. */
interface Parsed {
  readonly type: string;
  readonly chainId?: number;
  readonly nonce?: number;
  readonly gasPrice?: bigint;
  readonly maxPriorityFeePerGas?: bigint;
  readonly maxFeePerGas?: bigint;
  readonly gas?: bigint;
  readonly to?: Hex;
  readonly value?: bigint;
  readonly data?: Hex;
  readonly accessList?: readonly { readonly address: Hex; readonly storageKeys: readonly Hex[] }[];
  readonly r?: Hex;
  readonly s?: Hex;
  readonly v?: bigint;
  readonly yParity?: number;
}

export const viem: Oracle = {
  name: "viem",
  decode(raw) {
    const tx = parseTransaction(bytesToHex(raw) as TransactionSerialized) as unknown as Parsed;
    if (tx.r === undefined || tx.s === undefined) throw new Error("not signed");
    return {
      type: tx.type,
      chainId: tx.chainId === undefined ? undefined : BigInt(tx.chainId),
      nonce: BigInt(tx.nonce ?? 0),
      fees:
        tx.type === "eip1559" ? [tx.maxPriorityFeePerGas ?? 0n, tx.maxFeePerGas ?? 0n] : [tx.gasPrice ?? 0n],
      gasLimit: tx.gas ?? 0n,
      to: tx.to,
      value: tx.value ?? 0n,
      data: tx.data ?? "0x",
      accessList: (tx.accessList ?? []).map((entry) => [entry.address, entry.storageKeys] as const),
      r: BigInt(tx.r),
      s: BigInt(tx.s),
      yParity: tx.yParity ?? (tx.v === 27n ? 0 : 1),
    };
  },
  encode(tx, { compact, yParity }) {
    const signature = { r: half(compact, 0), s: half(compact, 32), yParity, v: BigInt(27 + yParity) };
    return serializeTransaction(forViem(tx), signature);
  },
};

export const ethers: Oracle = {
  name: "ethers",
  decode(raw) {
    const tx = Transaction.from(bytesToHex(raw));
    if (tx.signature === null) throw new Error("not signed");
    const type = ["legacy", "eip2930", "eip1559"][tx.type ?? 0] ?? "other";
    return {
      type,
      chainId: type === "legacy" && tx.signature.legacyChainId === null ? undefined : tx.chainId,
      nonce: BigInt(tx.nonce),
      fees: type === "eip1559" ? [tx.maxPriorityFeePerGas ?? 0n, tx.maxFeePerGas ?? 0n] : [tx.gasPrice ?? 0n],
      gasLimit: tx.gasLimit,
      to: tx.to?.toLowerCase(),
      value: tx.value,
      data: tx.data,
      accessList: (tx.accessList ?? []).map(
        (entry) => [entry.address.toLowerCase(), entry.storageKeys] as const,
      ),
      r: BigInt(tx.signature.r),
      s: BigInt(tx.signature.s),
      yParity: tx.signature.yParity,
    };
  },
  encode(tx, { compact, yParity }) {
    const signed = forEthers(tx);
    signed.signature = EthersSignature.from({ r: half(compact, 0), s: half(compact, 32), yParity });
    return signed.serialized as Hex;
  },
};

export const ORACLES: readonly Oracle[] = [viem, ethers];
