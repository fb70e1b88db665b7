import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { chunk } from "../util/chunk.js";
import {
  isObject,
  MAX_BATCH_CALLS,
  type Rpc,
  type RpcCall,
  RpcError,
  type RpcOutcome,
  RpcUnavailableError,
} from "./rpc.js";

export interface InclusionReceipt {
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
  readonly gasUsed: bigint;
  readonly succeeded: boolean;
}

export interface Account {
  readonly nonce: bigint;
  readonly balance: bigint;
}

/** A transaction of a block, as far as it tells who used which nonce. */
export interface BlockTransaction {
  readonly hash: Uint8Array;
  readonly from: Uint8Array;
  readonly nonce: bigint;
  /** Undefined for a contract creation. */
  readonly to: Uint8Array | undefined;
  readonly input: Uint8Array;
}

export interface BlockWithTransactions {
  readonly hash: Uint8Array;
  readonly transactions: readonly BlockTransaction[];
}

/** The state of accounts and transactions by one node at one moment. */
export interface NodeSnapshot {
  readonly nonces: readonly bigint[];
  readonly receipts: readonly (InclusionReceipt | undefined)[];
  /** The first address's nonce, read after the receipts. */
  readonly nonceAfter: bigint;
}

/** The most addresses and hashes together that {@link NodeClient.snapshot} reads. */
export const MAX_SNAPSHOT_ITEMS = MAX_BATCH_CALLS - 1;

/**
 * A client of the chain's nodes with the calls that the service uses. Addresses are 20 bytes, hashes 32. Each call but
 * `call` and `sendRawTransactions` rejects with the node's error, or with {@link RpcUnavailableError} without an answer.
 */
export interface NodeClient {
  /** Reads the chain's id and genesis, which tell it from another chain with the same id. */
  identity(): Promise<{ chainId: number; genesisHash: Uint8Array }>;
  /** Reads the height of the latest block. */
  blockNumber(): Promise<bigint>;
  /** Reads the hashes of the blocks at these heights, in their order; undefined above the head. */
  blockHashes(numbers: readonly bigint[]): Promise<(Uint8Array | undefined)[]>;
  /** Reads the blocks at these heights with all their transactions, in their order; undefined above the head. */
  blocks(numbers: readonly bigint[]): Promise<(BlockWithTransactions | undefined)[]>;
  /**
   * Reads the next nonces of one address after the blocks at these heights, in their order; undefined where the node does not
   * have the state of that block (any more, or yet).
   */
  noncesAt(address: Uint8Array, numbers: readonly bigint[]): Promise<(bigint | undefined)[]>;
  /** Reads the next nonces by the latest block, in the order of the addresses. */
  nonces(addresses: readonly Uint8Array[]): Promise<bigint[]>;
  /** Reads the next nonces and the balances (wei) by the latest block, in the order of the addresses. */
  accounts(addresses: readonly Uint8Array[]): Promise<Account[]>;
  /** Runs each request on the state of the latest block by `eth_call`. Returns the outcomes in their order. */
  call(requests: readonly object[]): Promise<RpcOutcome[]>;
  /** Reads the receipts, in the order of the hashes; undefined for a transaction that is in no block. */
  receipts(hashes: readonly Uint8Array[]): Promise<(InclusionReceipt | undefined)[]>;
  /**
   * Reads from one node the nonces, then the receipts, then the first address's nonce again. A receipt that is missing
   * although the nonce before it had moved on is not just late. A receipt that is there although the nonce after it has
   * not moved on came by another wrapper. Takes at most {@link MAX_SNAPSHOT_ITEMS} addresses and hashes together,
   * because two requests are answered at two moments.
   */
  snapshot(
    addresses: readonly [Uint8Array, ...Uint8Array[]],
    hashes: readonly Uint8Array[],
  ): Promise<NodeSnapshot>;
  /** Tells which of these transactions the node has, in its pool or in a block, in the order of the hashes. */
  knowsTransactions(hashes: readonly Uint8Array[]): Promise<boolean[]>;
  /**
   * Sends signed bytes in order, a hundred in one request, and returns the outcome of each. Nothing is sent after a
   * request that may not have arrived. Never rejects, and never repeats a request.
   */
  sendRawTransactions(raws: readonly Uint8Array[]): Promise<RpcOutcome[]>;
}

/** @throws the outcome's error. */
function resultOf(outcome: RpcOutcome): unknown {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

const nonceCall = (address: Uint8Array): RpcCall => ({
  method: "eth_getTransactionCount",
  params: [bytesToHex(address), "latest"],
});

const balanceCall = (address: Uint8Array): RpcCall => ({
  method: "eth_getBalance",
  params: [bytesToHex(address), "latest"],
});

const receiptCall = (hash: Uint8Array): RpcCall => ({
  method: "eth_getTransactionReceipt",
  params: [bytesToHex(hash)],
});

const blockCall = (number: bigint, withTransactions: boolean): RpcCall => ({
  method: "eth_getBlockByNumber",
  params: [toQuantity(number), withTransactions],
});

export function createNodeClient(rpc: Rpc): NodeClient {
  const read = async (calls: readonly RpcCall[]) =>
    (await Promise.all(chunk(calls, MAX_BATCH_CALLS).map((part) => rpc.read(part)))).flat();
  const results = async (calls: readonly RpcCall[]) => (await read(calls)).map(resultOf);
  return {
    async identity() {
      const [chainId, genesis] = await results([
        { method: "eth_chainId", params: [] },
        { method: "eth_getBlockByNumber", params: ["0x0", false] },
      ]);
      const hash = isObject(genesis) ? genesis.hash : undefined;
      return { chainId: Number(quantity(chainId)), genesisHash: hash32(hash) };
    },
    async blockNumber() {
      const [number] = await results([{ method: "eth_blockNumber", params: [] }]);
      return quantity(number);
    },
    async blockHashes(numbers) {
      const answers = await results(numbers.map((number) => blockCall(number, false)));
      return answers.map((block) => (isObject(block) ? hash32(block.hash) : undefined));
    },
    async blocks(numbers) {
      const answers = await results(numbers.map((number) => blockCall(number, true)));
      return answers.map(blockOf);
    },
    async noncesAt(address, numbers) {
      const method = "eth_getTransactionCount";
      const outcomes = await read(
        numbers.map((number) => ({ method, params: [bytesToHex(address), toQuantity(number)] })),
      );
      return outcomes.map((outcome) => {
        // The node says so in many words: pruned, missing trie node, header not found.
        if ("error" in outcome && outcome.error instanceof RpcError) return undefined;
        return quantity(resultOf(outcome));
      });
    },
    async nonces(addresses) {
      return (await results(addresses.map(nonceCall))).map(quantity);
    },
    async accounts(addresses) {
      const calls = addresses.flatMap((address) => [nonceCall(address), balanceCall(address)]);
      const values = (await results(calls)).map(quantity);
      return addresses.map((_, i) => ({ nonce: values[2 * i] ?? 0n, balance: values[2 * i + 1] ?? 0n }));
    },
    call: (requests) =>
      read(requests.map((request) => ({ method: "eth_call", params: [request, "latest"] }))),
    async receipts(hashes) {
      return (await results(hashes.map(receiptCall))).map(receiptOf);
    },
    async snapshot(addresses, hashes) {
      // One node answers a batch, in its order.
      const calls = [...addresses.map(nonceCall), ...hashes.map(receiptCall), nonceCall(addresses[0])];
      const answers = await results(calls);
      return {
        nonces: answers.slice(0, addresses.length).map(quantity),
        receipts: answers.slice(addresses.length, -1).map(receiptOf),
        nonceAfter: quantity(answers.at(-1)),
      };
    },
    async knowsTransactions(hashes) {
      const method = "eth_getTransactionByHash";
      const answers = await results(hashes.map((hash) => ({ method, params: [bytesToHex(hash)] })));
      return answers.map((answer) => answer !== null);
    },
    sendRawTransactions: (raws) => sendInOrder(rpc, raws),
  };
}

async function sendInOrder(rpc: Rpc, raws: readonly Uint8Array[]): Promise<RpcOutcome[]> {
  const calls = raws.map((raw) => ({ method: "eth_sendRawTransaction", params: [bytesToHex(raw)] }));
  const outcomes: RpcOutcome[] = [];
  for (const part of chunk(calls, MAX_BATCH_CALLS)) {
    const last = outcomes.at(-1);
    const lost = last && "error" in last && last.error instanceof RpcUnavailableError;
    outcomes.push(...(lost ? part.map(() => notSent(last.error)) : await rpc.send(part)));
  }
  return outcomes;
}

/** The outcome of what was held back, because a request before it may not have arrived. */
function notSent({ message }: Error): RpcOutcome {
  return { error: new RpcUnavailableError(`not sent, after: ${message}`, "no") };
}

function receiptOf(value: unknown): InclusionReceipt | undefined {
  if (value === null) return undefined;
  if (!isObject(value)) throw malformed("a receipt", value);
  return {
    blockNumber: quantity(value.blockNumber),
    blockHash: hash32(value.blockHash),
    gasUsed: quantity(value.gasUsed),
    succeeded: quantity(value.status) === 1n,
  };
}

function blockOf(value: unknown): BlockWithTransactions | undefined {
  if (value === null) return undefined;
  if (!isObject(value) || !Array.isArray(value.transactions)) throw malformed("a block", value);
  return { hash: hash32(value.hash), transactions: value.transactions.map(blockTransactionOf) };
}

function blockTransactionOf(value: unknown): BlockTransaction {
  if (!isObject(value)) throw malformed("a transaction", value);
  return {
    hash: hash32(value.hash),
    from: bytes(value.from, "an address"),
    nonce: quantity(value.nonce),
    to: value.to === null || value.to === undefined ? undefined : bytes(value.to, "an address"),
    input: bytes(value.input, "calldata"),
  };
}

function toQuantity(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}

function quantity(value: unknown): bigint {
  if (typeof value !== "string" || !/^0x[0-9a-f]+$/i.test(value)) throw malformed("a quantity", value);
  return BigInt(value);
}

function hash32(value: unknown): Uint8Array {
  if (typeof value !== "string" || !/^0x[0-9a-f]{64}$/i.test(value)) throw malformed("a hash", value);
  return hexToBytes(value as Hex);
}

function bytes(value: unknown, what: string): Uint8Array {
  if (typeof value !== "string" || !/^0x(?:[0-9a-f]{2})*$/i.test(value)) throw malformed(what, value);
  return hexToBytes(value as Hex);
}

function malformed(what: string, value: unknown): RpcUnavailableError {
  const shown = JSON.stringify(value)?.slice(0, 80);
  return new RpcUnavailableError(`the node answered ${shown} where ${what} was expected`, "unknown");
}
