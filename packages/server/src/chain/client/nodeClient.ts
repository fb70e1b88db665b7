import { type ChainIdentity, UNKNOWN_GENESIS } from "../../store/chains.js";
import { beginSend, type Presence, presenceOf, type SendAnswer, type SentWrapper } from "../evidence.js";
import {
  isObject,
  MAX_BATCH_CALLS,
  nodeErrorIn,
  type Rpc,
  type RpcCall,
  type RpcOutcome,
  RpcUnavailableError,
  resultOf,
} from "../rpc/rpc.js";
import {
  balanceCall,
  blockCall,
  blockNumberCall,
  chainIdCall,
  fullBlockCall,
  nonceCall,
  nonceCallAt,
  receiptCall,
  runCall,
  sendCall,
  transactionCall,
} from "./calls.js";
import {
  type BlockTransaction,
  type BlockWithTransactions,
  blockHashOf,
  blockOf,
  blockTransactionOf,
  type ChainHead,
  count,
  hash32,
  headOf,
  type InclusionReceipt,
  nonceOf,
  orNull,
  quantity,
  readEach,
  type Unclear,
  unlessUnclear,
} from "./nodeAnswers.js";
import {
  createSnapshotReader,
  isInBlock,
  readAll,
  readIn,
  receiptIn,
  type SnapshotReader,
} from "./snapshot.js";

export type { BlockTransaction, BlockWithTransactions, ChainHead, InclusionReceipt } from "./nodeAnswers.js";
export { MAX_SNAPSHOT_ITEMS, type NodeSnapshot, type ReceiptAnswer } from "./snapshot.js";

export interface Account {
  readonly nonce: bigint;
  readonly balance: bigint;
}

/**
 * A client of the chain's nodes with the calls that the service uses. Addresses are 20 bytes, hashes 32. Each call
 * rejects with the node's error, or with an RpcUnavailableError without an answer, unless it returns outcomes or says
 * otherwise. A call for many rejects only if none is told: an answer that is missing or malformed concerns its own subject.
 */
export class NodeClient {
  readonly #rpc: Rpc;
  readonly #chainId: number | undefined;
  /**
   * Reads from one node the nonces, then the receipts, then the first address's nonce again. If the nonce read first was
   * already used and the receipt is missing, the receipt is not just late. If the nonce read last is still unused and
   * the receipt exists, another wrapper carried the InnerTx. The second address belongs to the first hash, and so on.
   * Takes at most {@link MAX_SNAPSHOT_ITEMS} addresses and hashes together, because two requests are answered at two
   * moments.
   */
  readonly snapshot: SnapshotReader;

  /** @param chainId of the chain of which nodes must speak where something ends by their words; any without it. */
  constructor(rpc: Rpc, chainId?: number) {
    this.#rpc = rpc;
    this.#chainId = chainId;
    this.snapshot = createSnapshotReader(rpc);
  }

  /**
   * Reads the chain's id, and the hash of its first block, which tells it from another chain with the same id. Chains on
   * CometBFT begin at block 1; their nodes answer with the latest block where block 0 is asked for (cosmos/evm). The hash
   * is {@link UNKNOWN_GENESIS} where the node has pruned the first block.
   */
  async identity(): Promise<ChainIdentity> {
    const calls = [chainIdCall(), blockCall(0n), blockCall(1n)];
    const [chainId, zeroth, first] = await this.#rpc.read(calls, { byOneNode: true });
    const genesisHash = hashAt(zeroth, 0n) ?? hashAt(first, 1n) ?? UNKNOWN_GENESIS;
    return { chainId: Number(quantity(chainId && resultOf(chainId))), genesisHash };
  }

  /**
   * Reads the height of the latest block: by it, blocks are final, and proofs begin. Behind one address, a node of another chain may
   * answer for a while, so the chain is asked for in the same request.
   */
  async blockNumber(): Promise<bigint> {
    const [number, ofChain] = await this.#rpc.read([blockNumberCall(), chainIdCall()], { byOneNode: true });
    const chainId = unlessUnclear(readIn(ofChain, quantity));
    if (!this.#isOurs({ chainId }))
      throw new RpcUnavailableError(`the node is on chain ${chainId}`, "unknown");
    return count(number && resultOf(number));
  }

  /** Reads the height and the time of the latest block. */
  async head(): Promise<ChainHead> {
    return headOf((await this.#results([blockCall("latest")]))[0]);
  }

  /**
   * Reads the hashes of the blocks at these heights, in their order; undefined above the head, and where it was pruned;
   * `unclear` without a clear answer.
   */
  async blockHashes(numbers: readonly bigint[]): Promise<(Uint8Array | undefined | Unclear)[]> {
    const hashOf = (i: number) => orNull((block) => blockHashOf(block, numbers[i]));
    return readEach(await readAll(this.#rpc, numbers.map(blockCall)), (outcome, i) =>
      hashOf(i)(unlessRefused(outcome)),
    );
  }

  /** Reads the hash of the block at a height from each of the nodes. @returns what those say that show one; never rejects. */
  async blockHashByEach(number: bigint): Promise<Uint8Array[]> {
    const answers = await this.#rpc.readFromEach([blockCall(number)]);
    return answers.flatMap(
      ([outcome]) => unlessUnclear(readIn(outcome, (block) => blockHashOf(block, number))) ?? [],
    );
  }

  /**
   * Reads the blocks at these heights with all their transactions, in their order; undefined where the node shows none. A transaction
   * of another chain is left out: behind one address, a node of that chain may answer for a while.
   */
  blocks(numbers: readonly bigint[]): Promise<(BlockWithTransactions | undefined)[]> {
    return this.#each(numbers.map(fullBlockCall), (outcome, i) => {
      const block = blockOf(unlessRefused(outcome), numbers[i]);
      return block && { ...block, transactions: block.transactions.filter((one) => this.#isOurs(one)) };
    });
  }

  /**
   * Reads the next nonces of one address after the blocks at these heights, in their order; undefined where the node does not
   * have the state of that block (any more, or yet).
   */
  noncesAt(address: Uint8Array, numbers: readonly bigint[]): Promise<(bigint | undefined)[]> {
    const calls = numbers.map((number) => nonceCallAt(address, number));
    return this.#each(calls, (outcome) => orNull(nonceOf)(unlessRefused(outcome)));
  }

  /**
   * Reads the next nonces by the latest block, in the order of the addresses; undefined for an address whose nonce is not told,
   * such as one on a provider's list. Rejects if no nonce is told.
   */
  nonces(addresses: readonly Uint8Array[]): Promise<(bigint | undefined)[]> {
    return this.#each(addresses.map(nonceCall), (outcome) => nonceOf(resultOf(outcome)));
  }

  /**
   * Reads the next nonces of addresses from each of the nodes, for decisions that no single one may bring about.
   * @returns in the order of the addresses, what those say that tell it and are of the chain by the same request; never rejects.
   */
  async noncesByEach(addresses: readonly Uint8Array[]): Promise<bigint[][]> {
    const some = addresses.slice(0, MAX_BATCH_CALLS - 1);
    if (some.length === 0) return [];
    const answers = await this.#rpc.readFromEach([chainIdCall(), ...some.map(nonceCall)]);
    const ofChain = answers.filter(([first]) => {
      const chainId = unlessUnclear(readIn(first, quantity));
      return chainId !== undefined && this.#isOurs({ chainId });
    });
    const told = some.map((_, i) =>
      ofChain.flatMap((outcomes) => unlessUnclear(readIn(outcomes[i + 1], nonceOf)) ?? []),
    );
    return [...told, ...(await this.noncesByEach(addresses.slice(some.length)))];
  }

  /**
   * Reads the receipts of transactions from each of the nodes: one may have no index of them, or an index that stands still.
   * @returns in the order of the hashes, at most a hundred; undefined where no node has one. Never rejects.
   */
  async receiptsByEach(hashes: readonly Uint8Array[]): Promise<(InclusionReceipt | undefined)[]> {
    const answers = await this.#rpc.readFromEach(hashes.map(receiptCall));
    return hashes.map((hash, i) =>
      answers.map((outcomes) => unlessUnclear(receiptIn(outcomes[i], hash))).find((one) => one !== undefined),
    );
  }

  /** Reads the next nonces and the balances (wei) by the latest block, in the order of the addresses. */
  async accounts(addresses: readonly Uint8Array[]): Promise<Account[]> {
    const calls = addresses.flatMap((address) => [nonceCall(address), balanceCall(address)]);
    const values = (await this.#results(calls)).map(quantity);
    return addresses.map((_, i) => ({ nonce: values[2 * i] ?? 0n, balance: values[2 * i + 1] ?? 0n }));
  }

  /** Runs each request on the state of the latest block by `eth_call`. Returns the outcomes in their order. */
  call(requests: readonly object[]): Promise<RpcOutcome[]> {
    return readAll(
      this.#rpc,
      requests.map((request) => runCall(request, "latest")),
    );
  }

  /** Tells which of these transactions are in a block, in the order of the hashes; undefined where the node does not tell. */
  areIncluded(hashes: readonly Uint8Array[]): Promise<(boolean | undefined)[]> {
    return this.#each(hashes.map(transactionCall), (outcome) => isInBlock(resultOf(outcome)));
  }

  /** Returns a transaction by its hash, in a block or not; undefined if the node does not have it. */
  async transaction(hash: Uint8Array): Promise<BlockTransaction | undefined> {
    const [found] = await this.#results([transactionCall(hash)]);
    return orNull(blockTransactionOf)(found);
  }

  /** Looks wrappers up by their hashes, in a node's pool and in blocks. Never rejects. */
  async lookUp(hashes: readonly Uint8Array[]): Promise<Presence[]> {
    const outcomes = await readAll(this.#rpc, hashes.map(transactionCall));
    return hashes.map((hash, i) => presenceOf(outcomes[i], hash));
  }

  /**
   * Sends wrappers in order, and returns the answer to each. Never rejects. A request that fails whole is divided, if the
   * node answers anything else; nothing is sent behind an outage.
   * @param first the place of the node that gets them first, as in {@link Rpc.send}.
   */
  async send(wrappers: readonly SentWrapper[], first = 0): Promise<SendAnswer[]> {
    const answersOf = beginSend(wrappers);
    return answersOf(await this.#rpc.send(wrappers.map(sendCall), first));
  }

  /** Sends wrappers again that were sent before, to the nodes that `send` does not ask: they may not know them. Never rejects. */
  async sendToOthers(wrappers: readonly SentWrapper[], first = 0): Promise<void> {
    await this.#rpc.sendToOthers(wrappers.map(sendCall), first);
  }

  /** Sends a wrapper to each of the nodes, and returns the answer of each. Never rejects. */
  async sendToEach(wrapper: SentWrapper): Promise<SendAnswer[]> {
    const outcomes = await this.#rpc.sendToEach(sendCall(wrapper));
    const answersOf = beginSend(outcomes.map(() => wrapper));
    // Each answer is one of several to the same bytes.
    const requests = outcomes.reduce((sum, one) => sum + one.requests, 0);
    return answersOf(outcomes.map((outcome) => ({ ...outcome, requests })));
  }

  /** Whether something is of the chain, or does not tell its chain. */
  #isOurs({ chainId }: { readonly chainId?: bigint | undefined }): boolean {
    return chainId === undefined || this.#chainId === undefined || chainId === BigInt(this.#chainId);
  }

  async #results(calls: readonly RpcCall[]): Promise<unknown[]> {
    return (await readAll(this.#rpc, calls)).map(resultOf);
  }

  /** Reads each answer; undefined for one that tells nothing. */
  async #each<T>(
    calls: readonly RpcCall[],
    read: (outcome: RpcOutcome, i: number) => T,
  ): Promise<(T | undefined)[]> {
    return readEach(await readAll(this.#rpc, calls), read).map(unlessUnclear);
  }
}

/**
 * The result; null where the node refuses the call. Nodes word differently that they do not have a block or its state: pruned
 * history unavailable (4444), missing trie node, header not found. Besu answers null.
 */
function unlessRefused(outcome: RpcOutcome): unknown {
  return nodeErrorIn(outcome) ? null : resultOf(outcome);
}

const PRUNED_CODE = 4_444;
const PRUNED = /prun|histor|not available|lowest height|earliest/i;

/**
 * The hash of the block at this height; undefined if the node does not have it, or answers with another block.
 * @throws the outcome's error, unless it says that the block was pruned: after any other, the block may be there.
 */
function hashAt(outcome: RpcOutcome | undefined, height: bigint): Uint8Array | undefined {
  if (outcome === undefined) return undefined;
  const error = nodeErrorIn(outcome);
  if (error && (error.code === PRUNED_CODE || PRUNED.test(error.message))) return undefined;
  const block = resultOf(outcome);
  return isObject(block) && quantity(block.number) === height ? hash32(block.hash) : undefined;
}
