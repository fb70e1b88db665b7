import { bytesToHex } from "@gas-waiver/protocol";
import { type ChainIdentity, UNKNOWN_GENESIS } from "../store/chains.js";
import { chunk } from "../util/chunk.js";
import {
  balanceCall,
  blockCall,
  fullBlockCall,
  nonceCall,
  nonceCallAt,
  receiptCall,
  transactionCall,
} from "./calls.js";
import {
  type BlockWithTransactions,
  blockOf,
  type ChainHead,
  hash32,
  headOf,
  type InclusionReceipt,
  quantity,
  receiptOf,
} from "./nodeAnswers.js";
import {
  BatchTooLargeError,
  isObject,
  isUnanswered,
  MAX_BATCH_CALLS,
  type Rpc,
  type RpcCall,
  RpcError,
  type RpcOutcome,
} from "./rpc.js";

export type { BlockTransaction, BlockWithTransactions, ChainHead, InclusionReceipt } from "./nodeAnswers.js";

export interface Account {
  readonly nonce: bigint;
  readonly balance: bigint;
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
 * `call` and `sendRawTransactions` rejects with the node's error, or with an RpcUnavailableError without an answer.
 */
export interface NodeClient {
  /**
   * Reads the chain's id, and the hash of its first block, which tells it from another chain with the same id. Chains on
   * CometBFT begin at block 1; their nodes answer with the latest block where block 0 is asked for (cosmos/evm). The hash
   * is {@link UNKNOWN_GENESIS} where the node has pruned the first block.
   */
  identity(): Promise<ChainIdentity>;
  /** Reads the height of the latest block. */
  blockNumber(): Promise<bigint>;
  /** Reads the height and the time of the latest block. */
  head(): Promise<ChainHead>;
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
   * Reads from one node the nonces, then the receipts, then the first address's nonce again. If the nonce read first was
   * already used and the receipt is missing, the receipt is not just late. If the nonce read last is still unused and
   * the receipt exists, another wrapper carried the InnerTx. The second address belongs to the first hash, and so on.
   * Takes at most {@link MAX_SNAPSHOT_ITEMS} addresses and hashes together, because two requests are answered at two
   * moments.
   */
  snapshot(
    addresses: readonly [Uint8Array, ...Uint8Array[]],
    hashes: readonly Uint8Array[],
  ): Promise<NodeSnapshot>;
  /** Tells which of these transactions the node has, in its pool or in a block, in the order of the hashes. */
  knowsTransactions(hashes: readonly Uint8Array[]): Promise<boolean[]>;
  /**
   * Sends signed bytes in order, at most {@link MAX_BATCH_CALLS} in one request, and returns the outcome of each. Nothing
   * is sent after a request that may not have arrived. Never rejects, and repeats only what the node refused unseen, for its size.
   */
  sendRawTransactions(raws: readonly Uint8Array[]): Promise<RpcOutcome[]>;
}

/** @throws the outcome's error. */
function resultOf(outcome: RpcOutcome): unknown {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

export function createNodeClient(rpc: Rpc): NodeClient {
  const read = async (calls: readonly RpcCall[]) =>
    (await Promise.all(chunk(calls, MAX_BATCH_CALLS).map((part) => rpc.read(part)))).flat();
  const results = async (calls: readonly RpcCall[]) => (await read(calls)).map(resultOf);
  return {
    async identity() {
      const [chainId, zeroth, first] = await results([
        { method: "eth_chainId", params: [] },
        blockCall(0n),
        blockCall(1n),
      ]);
      const genesisHash = hashAt(zeroth, 0n) ?? hashAt(first, 1n) ?? UNKNOWN_GENESIS;
      return { chainId: Number(quantity(chainId)), genesisHash };
    },
    async blockNumber() {
      const [number] = await results([{ method: "eth_blockNumber", params: [] }]);
      return quantity(number);
    },
    head: async () => headOf((await results([blockCall("latest")]))[0]),
    async blockHashes(numbers) {
      const answers = await results(numbers.map(blockCall));
      return answers.map((block) => (isObject(block) ? hash32(block.hash) : undefined));
    },
    async blocks(numbers) {
      const answers = await results(numbers.map(fullBlockCall));
      return answers.map(blockOf);
    },
    async noncesAt(address, numbers) {
      const outcomes = await read(numbers.map((number) => nonceCallAt(address, number)));
      return outcomes.map((outcome) => {
        // Nodes word this differently: pruned, missing trie node, header not found.
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
    snapshot: (addresses, hashes) => readSnapshot(rpc, addresses, hashes),
    async knowsTransactions(hashes) {
      return (await results(hashes.map(transactionCall))).map((answer) => answer !== null);
    },
    sendRawTransactions: (raws) =>
      rpc.send(raws.map((raw) => ({ method: "eth_sendRawTransaction", params: [bytesToHex(raw)] }))),
  };
}

/** The hash of the block at this height; undefined if the node does not have it, or answers with another block. */
function hashAt(block: unknown, height: bigint): Uint8Array | undefined {
  return isObject(block) && quantity(block.number) === height ? hash32(block.hash) : undefined;
}

/**
 * Reads a snapshot in one request. If no node takes that many calls, each half of the hashes is read with the nonces
 * around it. Then a nonce before the receipts is the lowest that was read, and the nonce after them the highest.
 */
async function readSnapshot(
  rpc: Rpc,
  addresses: readonly [Uint8Array, ...Uint8Array[]],
  hashes: readonly Uint8Array[],
): Promise<NodeSnapshot> {
  const calls = [...addresses.map(nonceCall), ...hashes.map(receiptCall), nonceCall(addresses[0])];
  const outcomes = await rpc.read(calls, { together: true });
  const [first] = outcomes;
  const isTooLarge = isUnanswered(first) && first.error instanceof BatchTooLargeError;
  if (isTooLarge && hashes.length > 1) return readHalves(rpc, addresses, hashes);
  // A node that does not take even these few is asked for them in order.
  const answers = (isTooLarge ? await rpc.read(calls) : outcomes).map(resultOf);
  return {
    nonces: answers.slice(0, addresses.length).map(quantity),
    receipts: answers.slice(addresses.length, -1).map(receiptOf),
    nonceAfter: quantity(answers.at(-1)),
  };
}

async function readHalves(
  rpc: Rpc,
  [waiver, ...senders]: readonly [Uint8Array, ...Uint8Array[]],
  hashes: readonly Uint8Array[],
): Promise<NodeSnapshot> {
  const middle = Math.ceil(hashes.length / 2);
  // The caller compares each receipt with the waiver's nonce and with that of the sender at its place.
  const before = await readSnapshot(rpc, [waiver, ...senders.slice(0, middle)], hashes.slice(0, middle));
  const after = await readSnapshot(rpc, [waiver, ...senders.slice(middle)], hashes.slice(middle));
  const [next = 0n, ...nonces] = before.nonces;
  const [nextLater = 0n, ...noncesLater] = after.nonces;
  return {
    nonces: [next < nextLater ? next : nextLater, ...nonces, ...noncesLater],
    receipts: [...before.receipts, ...after.receipts],
    nonceAfter: before.nonceAfter > after.nonceAfter ? before.nonceAfter : after.nonceAfter,
  };
}
