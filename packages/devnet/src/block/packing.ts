import { type NestedUint8Array, RLP } from "@ethereumjs/rlp";
import { bigIntToBytes, bytesToBigInt, bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import type { Log, Outcome } from "../evm/executor.js";
import { NO_BYTES } from "../state/reader.js";
import type { IncludedTransaction, TransactionRole } from "./included.js";
import type { ChainTransaction } from "./transaction.js";

// Encodes a block's transactions with their receipts as RLP, for memory and for the disk. A wrapped transfer takes
// 0.8 KB, where its objects take 4 KB. Cumulative gas, log indices and blooms follow from the rest and are left out.

const ROLES: readonly TransactionRole[] = ["ordinary", "wrapper", "inner"];

export type RlpFields = readonly (Uint8Array | string | RlpFields)[];

/** A transaction and its result, without the values that depend on its place in the block. */
export interface UnpackedTransaction {
  readonly tx: ChainTransaction;
  readonly role: TransactionRole;
  readonly outcome: Outcome;
  /** The price of a unit of gas, in wei. */
  readonly effectiveGasPrice: bigint;
}

/** An item of a decoded list. An item of the wrong shape is read as empty, because checksums detect damage. */
export type Item = Uint8Array | NestedUint8Array | undefined;

export function packTransactions(transactions: readonly IncludedTransaction[]): Uint8Array {
  return RLP.encode(transactions.map(packIncluded) as Parameters<typeof RLP.encode>[0]);
}

export function unpackTransactions(packed: Uint8Array): UnpackedTransaction[] {
  return list(RLP.decode(packed)).map((item) => unpackIncluded(list(item)));
}

function packIncluded({ tx, role, receipt }: IncludedTransaction): RlpFields {
  return [
    tx.raw,
    hexToBytes(tx.hash),
    hexToBytes(tx.sender),
    Uint8Array.of(ROLES.indexOf(role), receipt.status),
    bigIntToBytes(receipt.gasUsed),
    bigIntToBytes(receipt.effectiveGasPrice),
    receipt.logs.map(({ address, topics, data }) => [address, topics, data]),
    receipt.created ?? NO_BYTES,
    receipt.failure ?? "",
  ];
}

function unpackIncluded(fields: NestedUint8Array): UnpackedTransaction {
  const [raw, hash, sender, roleAndStatus, gasUsed, price, logs, created, failure] = fields;
  const [role = 0, status = 0] = bytes(roleAndStatus);
  const createdAddress = bytes(created);
  const failureText = Buffer.from(bytes(failure)).toString();
  return {
    tx: { raw: bytes(raw), hash: bytesToHex(bytes(hash)), sender: bytesToHex(bytes(sender)) },
    role: ROLES[role] ?? "ordinary",
    outcome: {
      status: status === 1 ? 1 : 0,
      gasUsed: bytesToBigInt(bytes(gasUsed)),
      logs: list(logs).map(unpackLog),
      returnData: NO_BYTES,
      failure: failureText === "" ? undefined : failureText,
      created: createdAddress.length === 0 ? undefined : createdAddress,
    },
    effectiveGasPrice: bytesToBigInt(bytes(price)),
  };
}

function unpackLog(item: Item): Log {
  const [address, topics, data] = list(item);
  return { address: bytes(address), topics: list(topics).map(bytes), data: bytes(data) };
}
export function list(item: Item): NestedUint8Array {
  return Array.isArray(item) ? item : [];
}
export function bytes(item: Item): Uint8Array {
  return item instanceof Uint8Array ? item : NO_BYTES;
}
