import { chunk } from "../../util/chunk.js";
import { presenceOf } from "../evidence.js";
import {
  isObject,
  MAX_BATCH_CALLS,
  type Rpc,
  type RpcCall,
  type RpcOutcome,
  RpcUnavailableError,
  resultOf,
} from "../rpc/rpc.js";
import { nonceCall, receiptCall, transactionCall } from "./calls.js";
import { type InclusionReceipt, nonceOf, receiptOf, type Unclear, unlessUnclear } from "./nodeAnswers.js";

/**
 * A receipt; undefined for a transaction that is in no block; `unclear` if the node does not tell, because it still makes its
 * index (geth), gives a malformed receipt, or knows the transaction's block and gives no receipt.
 */
export type ReceiptAnswer = InclusionReceipt | Unclear | undefined;

/** The state of accounts and transactions by one node, read in this order. */
export interface NodeSnapshot {
  /** Undefined where the node does not tell. */
  readonly nonces: readonly (bigint | undefined)[];
  readonly receipts: readonly ReceiptAnswer[];
  /** The first address's nonce, read after the receipts. */
  readonly nonceAfter: bigint | undefined;
}

/** The most addresses and hashes together that one request has. */
export const MAX_SNAPSHOT_ITEMS = MAX_BATCH_CALLS - 1;

/** Addresses of 20 bytes, at least one, and hashes of 32. */
export type SnapshotReader = (
  addresses: readonly [Uint8Array, ...Uint8Array[]],
  hashes: readonly Uint8Array[],
) => Promise<NodeSnapshot>;

/** For this long after a snapshot of receipts got no answer, transactions are looked up first, in ms. */
const LOOK_UP_FIRST_MS = 600_000;

/**
 * Reads snapshots by receipts. Nodes of cosmos/evm hold back the answer to a receipt that is not there, for 1.5 to 51 s,
 * one after the other in a batch. Where receipts get no answer, the transactions are looked up instead, which such nodes
 * answer at once, and only receipts of those in a block are read.
 */
export function createSnapshotReader(rpc: Rpc, now: () => number = () => performance.now()): SnapshotReader {
  let lookUpUntil = Number.NEGATIVE_INFINITY;
  return async (addresses, hashes) => {
    if (now() < lookUpUntil) return await readByLookup(rpc, addresses, hashes);
    try {
      return await readByReceipt(rpc, addresses, hashes);
    } catch (error) {
      const isUnclear = !(error instanceof RpcUnavailableError) || error.sent === "unknown";
      if (!isUnclear || hashes.length === 0) throw error;
      const found = await readByLookup(rpc, addresses, hashes);
      lookUpUntil = now() + LOOK_UP_FIRST_MS;
      return found;
    }
  };
}

const readByReceipt: SnapshotReaderOf = async (rpc, addresses, hashes) => {
  const { items, ...nonces } = await readAround(rpc, addresses, hashes.map(receiptCall));
  const receipts = hashes.map((hash, i) => receiptIn(items[i], hash));
  // A node that does not tell a missing receipt may still know that there is no such transaction.
  const unclear = hashes.filter((_, i) => receipts[i] === "unclear");
  const lookups = await readAll(rpc, unclear.map(transactionCall));
  const absent = new Set(unclear.filter((hash, i) => isInNoBlock(lookups[i], hash)));
  return {
    ...nonces,
    receipts: receipts.map((one, i) => (absent.has(hashes[i] as Uint8Array) ? undefined : one)),
  };
};

const readByLookup: SnapshotReaderOf = async (rpc, addresses, hashes) => {
  const { items, ...nonces } = await readAround(rpc, addresses, hashes.map(transactionCall));
  const others = hashes.filter((hash, i) => !isInNoBlock(items[i], hash));
  const outcomes = await readAll(rpc, others.map(receiptCall));
  const found = new Map(others.map((hash, i) => [hash, receiptIn(outcomes[i], hash)]));
  return {
    ...nonces,
    receipts: hashes.map((hash) => (found.has(hash) ? (found.get(hash) ?? "unclear") : undefined)),
  };
};

type SnapshotReaderOf = (rpc: Rpc, ...subjects: Parameters<SnapshotReader>) => Promise<NodeSnapshot>;

export const receiptIn = (outcome: RpcOutcome | undefined, hash: Uint8Array): ReceiptAnswer =>
  readIn(outcome, (receipt) => receiptOf(receipt, hash));

export function readIn<T>(outcome: RpcOutcome | undefined, read: (value: unknown) => T): T | Unclear {
  try {
    return outcome === undefined ? "unclear" : read(resultOf(outcome));
  } catch {
    return "unclear";
  }
}

/** Whether a look-up says clearly that no block has the transaction. */
function isInNoBlock(outcome: RpcOutcome | undefined, hash: Uint8Array): boolean {
  const { is } = presenceOf(outcome, hash);
  return is === "absent" || (is === "shown" && outcome !== undefined && !isInBlock(resultOf(outcome)));
}

/** Tells a transaction of a block from null and from one of the pool. */
export function isInBlock(transaction: unknown): boolean {
  return isObject(transaction) && transaction.blockNumber !== null && transaction.blockNumber !== undefined;
}

/** Makes any number of calls, in as many requests as they need. */
export async function readAll(rpc: Rpc, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
  return (await Promise.all(chunk(calls, MAX_BATCH_CALLS).map((part) => rpc.read(part)))).flat();
}

/** Makes the calls between the nonces, in this order. @throws if none is answered. */
async function readAround(
  rpc: Rpc,
  addresses: readonly [Uint8Array, ...Uint8Array[]],
  itemCalls: readonly RpcCall[],
) {
  const calls = [...addresses.map(nonceCall), ...itemCalls, nonceCall(addresses[0])];
  const outcomes = await rpc.read(calls, { byOneNode: true });
  // One of them rejects then.
  if (!outcomes.some((outcome) => "result" in outcome)) outcomes.forEach(resultOf);
  const nonces = outcomes.map((outcome) => unlessUnclear(readIn(outcome, nonceOf)));
  return {
    nonces: nonces.slice(0, addresses.length),
    nonceAfter: nonces.at(-1),
    items: outcomes.slice(addresses.length, -1),
  };
}
