import { bytesEqual, bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { isObject, type RpcOutcome, RpcUnavailableError } from "../rpc/rpcOutcome.js";
import { type Authorization, authorizationsOf } from "./authorizations.js";

export interface InclusionReceipt {
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
  readonly gasUsed: bigint;
  readonly succeeded: boolean;
}

/** A transaction of a block, as far as it tells who used which nonce. */
export interface BlockTransaction {
  readonly hash: Uint8Array;
  readonly from: Uint8Array;
  readonly nonce: bigint;
  /** Undefined for a contract creation. */
  readonly to: Uint8Array | undefined;
  readonly input: Uint8Array;
  /** Undefined in a transaction that does not tell it. */
  readonly chainId?: bigint;
  /** Undefined in a transaction that has none. */
  readonly authorizations?: readonly Authorization[];
}

/** The latest block of a node. */
export interface ChainHead {
  readonly number: bigint;
  /** The block's time in seconds since 1970; undefined if the node's answer has none. */
  readonly timestamp: number | undefined;
  /** 32 bytes. */
  readonly hash: Uint8Array;
  /** The gas that the block has left; undefined if the node's answer does not tell. */
  readonly room?: bigint | undefined;
}

export interface BlockWithTransactions {
  readonly hash: Uint8Array;
  /** Those that the service can read. */
  readonly transactions: readonly BlockTransaction[];
  /** The block has others, which prove nothing. */
  readonly hasUnread?: boolean;
}

/** A call has no answer, or a malformed one. */
export type Unclear = "unclear";

/**
 * Reads each outcome by itself.
 * @throws the error of the first one if all are unclear.
 */
export function readEach<T>(
  outcomes: readonly RpcOutcome[],
  read: (outcome: RpcOutcome, place: number) => T,
): (T | Unclear)[] {
  const failures: unknown[] = [];
  const values = outcomes.map((outcome, place) => {
    try {
      return read(outcome, place);
    } catch (error) {
      failures.push(error);
      return "unclear" as const;
    }
  });
  if (outcomes.length > 0 && failures.length === outcomes.length) throw failures[0];
  return values;
}

export function unlessUnclear<T>(value: T | Unclear): T | undefined {
  return value === "unclear" ? undefined : value;
}

/** @throws RpcUnavailableError if the answer is neither the receipt of the transaction with this hash nor null. */
export function receiptOf(value: unknown, hash: Uint8Array): InclusionReceipt | undefined {
  if (value === null) return undefined;
  const isAsked = isObject(value) && bytesEqual(hash32(value.transactionHash), hash);
  if (!isAsked) throw malformed("the transaction's receipt", value);
  return {
    blockNumber: count(value.blockNumber),
    blockHash: hash32(value.blockHash),
    gasUsed: count(value.gasUsed),
    succeeded: quantity(value.status) === 1n,
  };
}

/** @throws RpcUnavailableError if the answer is neither the block at this height with its transactions nor null. */
export function blockOf(value: unknown, height: bigint | undefined): BlockWithTransactions | undefined {
  if (value === null) return undefined;
  const isAsked = isObject(value) && (height === undefined || quantity(value.number) === height);
  if (!isAsked || !Array.isArray(value.transactions)) throw malformed("a block", value);
  const transactions = value.transactions.filter(usesAccountNonce).flatMap(readable);
  const hasUnread = transactions.length < value.transactions.length;
  return { hash: hash32(value.hash), transactions, ...(hasUnread && { hasUnread }) };
}

/** The last type of which the nonce is the account's: EIP-7702. Later ones may have nonces of their own, as `0x3f` has. */
const LAST_ACCOUNT_NONCE_TYPE = 4;

function usesAccountNonce(transaction: unknown): boolean {
  // Older nodes tell no type, and some tell it as a number.
  return isObject(transaction) && Number(transaction.type ?? 0) <= LAST_ACCOUNT_NONCE_TYPE;
}

function readable(transaction: unknown): BlockTransaction[] {
  try {
    return [blockTransactionOf(transaction)];
  } catch {
    return [];
  }
}

/** @throws RpcUnavailableError if the answer is not a block. */
export function headOf(value: unknown): ChainHead {
  if (!isObject(value)) throw malformed("a block", value);
  const { number, timestamp, hash, gasLimit, gasUsed } = value;
  return {
    number: count(number),
    hash: hash32(hash),
    room: roomOf(gasLimit, gasUsed),
    timestamp: timestamp === undefined ? undefined : Number(quantity(timestamp)),
  };
}

/** The gas of the smallest transaction. */
const LEAST_GAS = 21_000n;

/**
 * A limit that no transaction keeps, or that the block itself exceeds, bounds nothing: on some chains the limit is 0, 1 or a mere
 * constant (Aurora, Zilliqa, Flow, Filecoin).
 */
function roomOf(gasLimit: unknown, gasUsed: unknown): bigint | undefined {
  if (![gasLimit, gasUsed].every(isQuantity)) return undefined;
  const [limit, used] = [quantity(gasLimit), quantity(gasUsed)];
  return limit < LEAST_GAS || used > limit ? undefined : limit - used;
}

const QUANTITY = /^0x[0-9a-f]+$/i;
const isQuantity = (value: unknown): value is string => typeof value === "string" && QUANTITY.test(value);

/** @returns 32 bytes. @throws RpcUnavailableError if the answer is not the block at this height, with its hash. */
export function blockHashOf(value: unknown, height: bigint | undefined): Uint8Array {
  const isAsked = isObject(value) && (height === undefined || quantity(value.number) === height);
  if (!isAsked) throw malformed("a block", value);
  return hash32(value.hash);
}

/** @throws RpcUnavailableError if the answer is not the transaction with this hash, of 32 bytes. */
export function assertHash(value: unknown, hash: Uint8Array): void {
  if (!isObject(value) || !bytesEqual(hash32(value.hash), hash)) throw malformed("a transaction", value);
}

/** @throws RpcUnavailableError if the answer is not a transaction. */
export function blockTransactionOf(value: unknown): BlockTransaction {
  if (!isObject(value)) throw malformed("a transaction", value);
  const authorizations = authorizationsOf(value);
  return {
    hash: hash32(value.hash),
    from: bytes(value.from, "an address"),
    nonce: quantity(value.nonce),
    to: value.to === null || value.to === undefined ? undefined : bytes(value.to, "an address"),
    input: bytes(value.input, "calldata"),
    // Some nodes write 0 where a transaction is of any chain.
    ...(isQuantity(value.chainId) && BigInt(value.chainId) > 0n && { chainId: BigInt(value.chainId) }),
    ...(authorizations.length > 0 && { authorizations }),
  };
}

/** Reads null as undefined. */
export function orNull<T>(read: (value: unknown) => T): (value: unknown) => T | undefined {
  return (value) => (value === null ? undefined : read(value));
}

/** @throws RpcUnavailableError if the answer is not a list of logs. */
export function logsOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed("a list of logs", value);
  return value;
}

/** @throws RpcUnavailableError if the answer is not a quantity. */
export function quantity(value: unknown): bigint {
  if (!isQuantity(value)) throw malformed("a quantity", value);
  return BigInt(value);
}

/** The store's numbers end here. No chain has so many blocks, and no block so much gas. */
const MAX_COUNT = 2n ** 63n - 1n;

/** @throws RpcUnavailableError if the answer is not a height or an amount of gas. */
export function count(value: unknown): bigint {
  const counted = quantity(value);
  if (counted > MAX_COUNT) throw malformed("a count", value);
  return counted;
}

/** EIP-2681: the next nonce of an account is never above this one. */
const MAX_NONCE = 2n ** 64n - 1n;

/** @throws RpcUnavailableError if the answer is not a nonce. */
export function nonceOf(value: unknown): bigint {
  const nonce = quantity(value);
  if (nonce > MAX_NONCE) throw malformed("a nonce", value);
  return nonce;
}

/** @throws RpcUnavailableError if the answer is not a hash of 32 bytes. */
export function hash32(value: unknown): Uint8Array {
  if (typeof value !== "string" || !/^0x[0-9a-f]{64}$/i.test(value)) throw malformed("a hash", value);
  return hexToBytes(value as Hex);
}

/** @throws RpcUnavailableError if the answer is not bytes. */
export function bytes(value: unknown, name = "bytes"): Uint8Array {
  if (typeof value !== "string" || !/^0x(?:[0-9a-f]{2})*$/i.test(value)) throw malformed(name, value);
  return hexToBytes(value as Hex);
}

function malformed(name: string, value: unknown): RpcUnavailableError {
  const shown = JSON.stringify(value)?.slice(0, 80);
  return new RpcUnavailableError(`the node answered ${shown} where ${name} was expected`, "unknown");
}

/** Tells whether a value is this hash in hex, in whichever case. */
export function isHash(value: unknown, hash: Uint8Array): boolean {
  return typeof value === "string" && value.toLowerCase() === bytesToHex(hash);
}
