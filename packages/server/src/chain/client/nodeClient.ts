import { bytesToHex } from "@gas-waiver/protocol";
import { type ChainIdentity, UNKNOWN_GENESIS } from "../../store/chains.js";
import { chunk } from "../../util/chunk.js";
import {
  isObject,
  MAX_BATCH_CALLS,
  NodeRpcError,
  type Rpc,
  type RpcCall,
  type RpcOutcome,
  resultOf,
} from "../rpc/rpc.js";
import { balanceCall, blockCall, fullBlockCall, nonceCall, nonceCallAt, transactionCall } from "./calls.js";
import {
  type BlockWithTransactions,
  blockOf,
  type ChainHead,
  hash32,
  headOf,
  quantity,
} from "./nodeAnswers.js";
import { createSnapshotReader, isInBlock, type SnapshotReader } from "./snapshot.js";

export type { BlockTransaction, BlockWithTransactions, ChainHead, InclusionReceipt } from "./nodeAnswers.js";
export { MAX_SNAPSHOT_ITEMS, type NodeSnapshot, type ReceiptAnswer } from "./snapshot.js";

export interface Account {
  readonly nonce: bigint;
  readonly balance: bigint;
}

/**
 * A client of the chain's nodes with the calls that the service uses. Addresses are 20 bytes, hashes 32. Each call
 * rejects with the node's error, or with an RpcUnavailableError without an answer, unless it returns outcomes or says
 * otherwise.
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
  /** Reads the hashes of the blocks at these heights, in their order; undefined above the head, and where it was pruned. */
  blockHashes(numbers: readonly bigint[]): Promise<(Uint8Array | undefined)[]>;
  /** Reads the blocks at these heights with all their transactions, in their order; undefined as above. */
  blocks(numbers: readonly bigint[]): Promise<(BlockWithTransactions | undefined)[]>;
  /**
   * Reads the next nonces of one address after the blocks at these heights, in their order; undefined where the node does not
   * have the state of that block (any more, or yet).
   */
  noncesAt(address: Uint8Array, numbers: readonly bigint[]): Promise<(bigint | undefined)[]>;
  /**
   * Reads the next nonces by the latest block, in the order of the addresses; undefined for an address whose nonce is not told,
   * such as one on a provider's list. Rejects if no nonce is told.
   */
  nonces(addresses: readonly Uint8Array[]): Promise<(bigint | undefined)[]>;
  /** Reads the next nonces and the balances (wei) by the latest block, in the order of the addresses. */
  accounts(addresses: readonly Uint8Array[]): Promise<Account[]>;
  /** Runs each request on the state of the latest block by `eth_call`. Returns the outcomes in their order. */
  call(requests: readonly object[]): Promise<RpcOutcome[]>;
  /** Tells which of these transactions are in a block, in the order of the hashes. */
  areIncluded(hashes: readonly Uint8Array[]): Promise<boolean[]>;
  /**
   * Reads from one node the nonces, then the receipts, then the first address's nonce again. If the nonce read first was
   * already used and the receipt is missing, the receipt is not just late. If the nonce read last is still unused and
   * the receipt exists, another wrapper carried the InnerTx. The second address belongs to the first hash, and so on.
   * Takes at most {@link MAX_SNAPSHOT_ITEMS} addresses and hashes together, because two requests are answered at two
   * moments.
   */
  readonly snapshot: SnapshotReader;
  /** Tells which of these transactions the node has, in its pool or in a block, in the order of the hashes. */
  knowsTransactions(hashes: readonly Uint8Array[]): Promise<boolean[]>;
  /**
   * Sends signed bytes in order, at most {@link MAX_BATCH_CALLS} in one request, and returns the outcome of each. Nothing
   * is sent after a request that may not have arrived. Never rejects. Repeats only what no node has seen: a request that was
   * refused for its size, or that met a closed connection.
   */
  sendRawTransactions(raws: readonly Uint8Array[]): Promise<RpcOutcome[]>;
}

export function createNodeClient(rpc: Rpc): NodeClient {
  const read = async (calls: readonly RpcCall[]) =>
    (await Promise.all(chunk(calls, MAX_BATCH_CALLS).map((part) => rpc.read(part)))).flat();
  const results = async (calls: readonly RpcCall[]) => (await read(calls)).map(resultOf);
  return {
    async identity() {
      const [chainId, zeroth, first] = await read([
        { method: "eth_chainId", params: [] },
        blockCall(0n),
        blockCall(1n),
      ]);
      const genesisHash = hashAt(zeroth, 0n) ?? hashAt(first, 1n) ?? UNKNOWN_GENESIS;
      return { chainId: Number(quantity(chainId && resultOf(chainId))), genesisHash };
    },
    async blockNumber() {
      const [number] = await results([{ method: "eth_blockNumber", params: [] }]);
      return quantity(number);
    },
    head: async () => headOf((await results([blockCall("latest")]))[0]),
    async blockHashes(numbers) {
      const blocks = (await read(numbers.map(blockCall))).map(unlessRefused);
      return blocks.map((block) => (isObject(block) ? hash32(block.hash) : undefined));
    },
    async blocks(numbers) {
      return (await read(numbers.map(fullBlockCall))).map(unlessRefused).map(blockOf);
    },
    async noncesAt(address, numbers) {
      const outcomes = await read(numbers.map((number) => nonceCallAt(address, number)));
      return outcomes.map(unlessRefused).map((nonce) => (nonce === null ? undefined : quantity(nonce)));
    },
    async nonces(addresses) {
      const told = (await read(addresses.map(nonceCall))).map(quantityOrError);
      const failed = told.find((one) => one instanceof Error);
      if (failed !== undefined && told.every((one) => one instanceof Error)) throw failed;
      return told.map((one) => (one instanceof Error ? undefined : one));
    },
    async accounts(addresses) {
      const calls = addresses.flatMap((address) => [nonceCall(address), balanceCall(address)]);
      const values = (await results(calls)).map(quantity);
      return addresses.map((_, i) => ({ nonce: values[2 * i] ?? 0n, balance: values[2 * i + 1] ?? 0n }));
    },
    call: (requests) =>
      read(requests.map((request) => ({ method: "eth_call", params: [request, "latest"] }))),
    async areIncluded(hashes) {
      return (await results(hashes.map(transactionCall))).map(isInBlock);
    },
    snapshot: createSnapshotReader(rpc),
    async knowsTransactions(hashes) {
      return (await results(hashes.map(transactionCall))).map((answer) => answer !== null);
    },
    sendRawTransactions: (raws) =>
      rpc.send(raws.map((raw) => ({ method: "eth_sendRawTransaction", params: [bytesToHex(raw)] }))),
  };
}

/**
 * The result; null where the node refuses the call. Nodes word differently that they do not have a block or its state: pruned
 * history unavailable (4444), missing trie node, header not found. Besu answers null.
 */
function unlessRefused(outcome: RpcOutcome): unknown {
  return "error" in outcome && outcome.error instanceof NodeRpcError ? null : resultOf(outcome);
}

/** The quantity of an answer; the error instead of one, or that of a malformed answer. */
function quantityOrError(outcome: RpcOutcome): bigint | Error {
  try {
    return quantity(resultOf(outcome));
  } catch (error) {
    return error as Error;
  }
}

const PRUNED_CODE = 4_444;
const PRUNED = /prun|histor|not available|lowest height|earliest/i;

/**
 * The hash of the block at this height; undefined if the node does not have it, or answers with another block.
 * @throws the outcome's error, unless it says that the block was pruned: after any other, the block may be there.
 */
function hashAt(outcome: RpcOutcome | undefined, height: bigint): Uint8Array | undefined {
  if (outcome === undefined) return undefined;
  const error = "error" in outcome && outcome.error instanceof NodeRpcError ? outcome.error : undefined;
  if (error && (error.code === PRUNED_CODE || PRUNED.test(error.message))) return undefined;
  const block = resultOf(outcome);
  return isObject(block) && quantity(block.number) === height ? hash32(block.hash) : undefined;
}
