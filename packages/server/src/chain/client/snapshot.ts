import { chunk } from "../../util/chunk.js";
import {
  BatchTooLargeError,
  isObject,
  isUnanswered,
  MAX_BATCH_CALLS,
  NodeRpcError,
  type Rpc,
  type RpcCall,
  type RpcOutcome,
  RpcUnavailableError,
  resultOf,
} from "../rpc/rpc.js";
import { nonceCall, receiptCall, transactionCall } from "./calls.js";
import { type InclusionReceipt, quantity, receiptOf } from "./nodeAnswers.js";

/**
 * A receipt; undefined for a transaction that is in no block; `unknown` if the node cannot tell, because it still makes its
 * index (geth), or knows the transaction's block and gives no receipt.
 */
export type ReceiptAnswer = InclusionReceipt | "unknown" | undefined;

/** The state of accounts and transactions by one node at one moment. */
export interface NodeSnapshot {
  readonly nonces: readonly bigint[];
  readonly receipts: readonly ReceiptAnswer[];
  /** The first address's nonce, read after the receipts. */
  readonly nonceAfter: bigint;
}

/** The most addresses and hashes together that one snapshot reads. */
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
      const isUnclear = error instanceof RpcUnavailableError && error.sent === "unknown";
      if (!isUnclear || hashes.length === 0) throw error;
      const found = await readByLookup(rpc, addresses, hashes);
      lookUpUntil = now() + LOOK_UP_FIRST_MS;
      return found;
    }
  };
}

const readByReceipt = async (
  rpc: Rpc,
  addresses: readonly [Uint8Array, ...Uint8Array[]],
  hashes: readonly Uint8Array[],
): Promise<NodeSnapshot> => {
  const { items, ...nonces } = await readAround(rpc, addresses, hashes.map(receiptCall));
  const refused = hashes.filter((_, i) => isRefused(items[i]));
  // A node that has an error for each missing receipt may still know that there is no such transaction.
  const lookups = await readAll(rpc, refused.map(transactionCall));
  const receipts = items.map((item): ReceiptAnswer => {
    if (!isRefused(item)) return receiptOf(resultOf(item));
    const lookup = lookups.shift();
    return lookup === undefined || isRefused(lookup) || isInBlock(resultOf(lookup)) ? "unknown" : undefined;
  });
  return { ...nonces, receipts };
};

const readByLookup: typeof readByReceipt = async (rpc, addresses, hashes) => {
  const { items, ...nonces } = await readAround(rpc, addresses, hashes.map(transactionCall));
  const included = hashes.filter((_, i) => {
    const item = items[i];
    return item !== undefined && !isRefused(item) && isInBlock(resultOf(item));
  });
  const answers = await readAll(rpc, included.map(receiptCall));
  const receipts = items.map((item): ReceiptAnswer => {
    if (isRefused(item)) return "unknown";
    if (!isInBlock(resultOf(item))) return undefined;
    const answer = answers.shift();
    return answer === undefined || isRefused(answer) ? "unknown" : (receiptOf(resultOf(answer)) ?? "unknown");
  });
  return { ...nonces, receipts };
};

const isRefused = (outcome: RpcOutcome | undefined) =>
  outcome !== undefined && "error" in outcome && outcome.error instanceof NodeRpcError;

/** Tells a transaction of a block from null and from one of the pool. */
export function isInBlock(transaction: unknown): boolean {
  return isObject(transaction) && transaction.blockNumber !== null && transaction.blockNumber !== undefined;
}

async function readAll(rpc: Rpc, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
  return (await Promise.all(chunk(calls, MAX_BATCH_CALLS).map((part) => rpc.read(part)))).flat();
}

/** Outcomes with the nonces around them. */
interface AroundItems {
  readonly nonces: readonly bigint[];
  readonly items: readonly RpcOutcome[];
  readonly nonceAfter: bigint;
}

/**
 * Makes the calls in one request, between the nonces. If no node takes that many calls, each half is read with the nonces
 * around it. Then a nonce before them is the lowest that was read, and the nonce after them the highest.
 */
async function readAround(
  rpc: Rpc,
  addresses: readonly [Uint8Array, ...Uint8Array[]],
  itemCalls: readonly RpcCall[],
): Promise<AroundItems> {
  const calls = [...addresses.map(nonceCall), ...itemCalls, nonceCall(addresses[0])];
  const outcomes = await rpc.read(calls, { together: true });
  const [first] = outcomes;
  const isTooLarge = isUnanswered(first) && first.error instanceof BatchTooLargeError;
  if (isTooLarge && itemCalls.length > 1) return readHalves(rpc, addresses, itemCalls);
  // A node that does not take even these few is asked for them in order.
  const answers = isTooLarge ? await rpc.read(calls) : outcomes;
  const nonces = answers.slice(0, addresses.length).map((outcome) => quantity(resultOf(outcome)));
  const last = answers.at(-1);
  return {
    nonces,
    items: answers.slice(addresses.length, -1),
    nonceAfter: quantity(last && resultOf(last)),
  };
}

async function readHalves(
  rpc: Rpc,
  [waiver, ...senders]: readonly [Uint8Array, ...Uint8Array[]],
  itemCalls: readonly RpcCall[],
): Promise<AroundItems> {
  const middle = Math.ceil(itemCalls.length / 2);
  // The caller compares each receipt with the waiver's nonce and with that of the sender at its place.
  const before = await readAround(rpc, [waiver, ...senders.slice(0, middle)], itemCalls.slice(0, middle));
  const after = await readAround(rpc, [waiver, ...senders.slice(middle)], itemCalls.slice(middle));
  const [next = 0n, ...nonces] = before.nonces;
  const [nextLater = 0n, ...noncesLater] = after.nonces;
  return {
    nonces: [next < nextLater ? next : nextLater, ...nonces, ...noncesLater],
    items: [...before.items, ...after.items],
    nonceAfter: before.nonceAfter > after.nonceAfter ? before.nonceAfter : after.nonceAfter,
  };
}
