import { type NestedUint8Array, RLP } from "@ethereumjs/rlp";
import { bigIntToBytes, bytesToBigInt, bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import type { Log, Outcome } from "../evm/executor.js";
import { NO_BYTES } from "../state/reader.js";
import type { Included, Role } from "./included.js";
import type { ChainTransaction } from "./transaction.js";

// A block's transactions with their receipts as RLP, in memory and on the disk: 0.8 KB for a wrapped transfer
// where its objects take 4 KB. What follows from the rest is left out: cumulative gas, log indices, blooms.

const ROLES: readonly Role[] = ["ordinary", "wrapper", "inner"];

export type Packed = readonly (Uint8Array | string | Packed)[];

/** What a block is made from. */
export interface Unpacked {
  readonly tx: ChainTransaction;
  readonly role: Role;
  readonly outcome: Outcome;
  /** In wei. */
  readonly effectiveGasPrice: bigint;
}

type Item = Uint8Array | NestedUint8Array | undefined;

export function packTransactions(transactions: readonly Included[]): Uint8Array {
  return RLP.encode(transactions.map(packIncluded) as Parameters<typeof RLP.encode>[0]);
}

export function unpackTransactions(packed: Uint8Array): Unpacked[] {
  return list(RLP.decode(packed)).map((item) => unpackIncluded(list(item)));
}

export function packIncluded({ tx, role, receipt }: Included): Packed {
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

/** What is of the wrong shape counts as empty: whoever keeps it outside of memory keeps a checksum. */
export function unpackIncluded(fields: NestedUint8Array): Unpacked {
  const [raw, hash, sender, marks, gasUsed, price, logs, created, failure] = fields;
  const [role = 0, status = 0] = bytes(marks);
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

function list(item: Item): NestedUint8Array {
  return Array.isArray(item) ? item : [];
}

function bytes(item: Item): Uint8Array {
  return item instanceof Uint8Array ? item : NO_BYTES;
}
