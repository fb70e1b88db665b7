import {
  type AllowedTarget,
  bytesToHex,
  crypto,
  decodeInnerTx,
  decodeTransaction,
  type Hex,
  hashTransaction,
  MARKER_ADDRESS,
  REGISTRY_ADDRESS,
  recoverSender,
  type SignedTransaction,
} from "@gas-waiver/protocol";
import type { ModelRegistry } from "./modelRegistry.js";

/** `strict`: the pool takes only the next nonce. `queued`: a higher nonce waits in the pool. */
export type PoolKind = "strict" | "queued";

/** The node refuses a transaction. `data.reason` names the rule, if the node names rules. */
export class RefusedByNode extends Error {
  readonly data: ({ readonly reason: string } & Readonly<Record<string, unknown>>) | undefined;

  /** @param values stand beside the reason, as validators give them. */
  constructor(message: string, reason?: string, values: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.data = reason === undefined ? undefined : { ...values, reason };
  }
}

interface BlockTransaction {
  readonly hash: Hex;
  readonly from: Hex;
  readonly nonce: bigint;
  readonly to: Hex;
  readonly input: Hex;
}

interface Wrapper {
  readonly hash: Hex;
  readonly innerRaw: Hex;
  readonly waiver: Hex;
  readonly nonce: bigint;
  readonly innerHash: Hex;
  readonly sender: Hex;
  readonly senderNonce: bigint;
}

interface Receipt {
  readonly blockNumber: Hex;
  readonly blockHash: Hex;
  readonly gasUsed: Hex;
  readonly status: Hex;
}

export const CHAIN_ID = 2201;
/** The pool drops a wrapper with this many blocks after the first one that left it out. */
const MAX_SKIPPED_BLOCKS = 2;

/** A model of a chain with the waiver rules, as far as a submission service sees it: nonces, blocks, receipts. */
export class ModelChain {
  readonly pool: PoolKind;
  chainId = CHAIN_ID;
  /** Waivers that were revoked, by address. */
  readonly revoked = new Set<Hex>();
  /** The reasons for which the node refuses InnerTxs, keyed by their hash. */
  readonly refused = new Map<Hex, string>();
  /** The pool takes wrappers of these senders, and no block has them: accounts with code (EIP-3607). */
  readonly leftOut = new Set<Hex>();
  /** Whether the pool keeps a wrapper that blocks leave out. CometBFT rechecks and drops; geth keeps what is next in line. */
  keepsLeftOut = false;
  /** Whether a second wrapper under a nonce takes the place of the first: Erigon, Nethermind and Besu replace the first, geth refuses. */
  replaces = false;
  /** The hashes of the InnerTxs that revert. */
  readonly reverting = new Set<Hex>();
  /** The hashes of the executed InnerTxs, in order. No hash may be here twice. */
  readonly executed: Hex[] = [];
  genesisHash: Hex = fakeHash("genesis");
  /** Balances in wei, keyed by address; 0 without an entry. */
  readonly balances = new Map<Hex, bigint>();
  /** The registry contract; without it, no contract of the chain can be called. */
  registry: ModelRegistry | undefined;
  /** The blocks above the genesis, with the wrappers that ran in each and the transactions of other senders. */
  #blocks: {
    readonly hash: Hex;
    /** In seconds. */
    readonly timestamp: number;
    readonly ran: Wrapper[];
    readonly otherTransactions: BlockTransaction[];
  }[] = [];
  /** The time of new blocks, in ms. */
  now: () => number = Date.now;
  readonly #genesisTimestamp = Math.floor(Date.now() / 1_000);
  readonly #genesisTransactions: BlockTransaction[] = [];
  /** The lowest height for which the node has the account states. */
  statesFrom = 0;
  #forks = 0;
  readonly #nonces = new Map<Hex, bigint>();
  readonly #receipts = new Map<Hex, Receipt>();
  /** The block that first left a wrapper out because its sender's nonce was missing, keyed by the wrapper's hash. */
  readonly #heldSince = new Map<Hex, number>();
  readonly #pool = new Map<Hex, Wrapper>();
  readonly #paying: BlockTransaction[] = [];

  constructor(pool: PoolKind) {
    this.pool = pool;
  }

  get height(): number {
    return this.#blocks.length;
  }

  nonceOf(address: Hex): bigint {
    return this.#nonces.get(address) ?? 0n;
  }

  /** Sets the next nonce of an account, as if it had sent other transactions: the newest block holds them. */
  setNonce(address: Hex, nonce: bigint): void {
    const otherTransactions = this.#blocks.at(-1)?.otherTransactions ?? this.#genesisTransactions;
    for (let used = this.nonceOf(address); used < nonce; used++) {
      const hash = fakeHash(`${address} ${used} by other software at ${this.height} of fork ${this.#forks}`);
      otherTransactions.push({ hash, from: address, nonce: used, to: address, input: "0x" });
    }
    this.#nonces.set(address, nonce);
  }

  /** An account's next nonce after the block at this height. */
  nonceAt(address: Hex, height: number): bigint {
    for (let at = height; at >= 0; at--) {
      const used = this.#transactionsAt(at).filter(({ from }) => from === address);
      if (used.length > 0) return used.map(({ nonce }) => nonce).reduce((a, b) => (a > b ? a : b)) + 1n;
    }
    return 0n;
  }

  #transactionsAt(height: number): readonly BlockTransaction[] {
    const block = this.#blocks[height - 1];
    if (block === undefined) return this.#genesisTransactions;
    const marker = bytesToHex(MARKER_ADDRESS);
    const ran = block.ran.flatMap(({ hash, waiver, nonce, innerHash, innerRaw, sender, senderNonce }) => [
      { hash, from: waiver, nonce, to: marker, input: innerRaw },
      { hash: innerHash, from: sender, nonce: senderNonce, to: marker, input: "0x" as Hex },
    ]);
    return [...block.otherTransactions, ...ran];
  }

  /** The wrappers in the pool. */
  get pending(): readonly Wrapper[] {
    return [...this.#pool.values()];
  }

  /** Empties the pool, as a node's restart does. */
  clearPool(): void {
    this.#pool.clear();
  }

  /** Evicts the wrapper at this index from the pool, if there is one. */
  evict(index: number): void {
    const evicted = this.pending[index];
    if (evicted) this.#pool.delete(evicted.hash);
  }

  /**
   * Adds a signed wrapper to the pool. It makes the checks of D7 that need the chain.
   * @throws {@link RefusedByNode}
   */
  addToPool(raw: Uint8Array, forgetAtOnce = false): Uint8Array {
    const wrapper = decodeTransaction(raw);
    if (wrapper.type === "legacy" && wrapper.gasPrice > 0n) return this.#addPaying(wrapper);
    const inner = decodeInnerTx(wrapper.data);
    const pending: Wrapper = {
      hash: bytesToHex(hashTransaction(wrapper)),
      innerRaw: bytesToHex(wrapper.data),
      waiver: bytesToHex(recoverSender(wrapper)),
      nonce: wrapper.nonce,
      innerHash: bytesToHex(hashTransaction(inner)),
      sender: bytesToHex(recoverSender(inner)),
      senderNonce: inner.nonce,
    };
    if (this.#pool.has(pending.hash)) throw new RefusedByNode("already known");
    if (this.replaces) this.#removeFromPool(pending);
    this.#assertAcceptable(pending);
    if (!forgetAtOnce) this.#pool.set(pending.hash, pending);
    return hashTransaction(wrapper);
  }

  /** Takes a transaction that pays in the place of any wrapper with its nonce. The next block has it. */
  #addPaying(paying: SignedTransaction): Uint8Array {
    const from = bytesToHex(recoverSender(paying));
    this.#removeFromPool({ waiver: from, nonce: paying.nonce });
    const hash = hashTransaction(paying);
    this.#paying.push({ hash: bytesToHex(hash), from, nonce: paying.nonce, to: from, input: "0x" });
    return hash;
  }

  #runPaying(): void {
    for (const paying of this.#paying.splice(0)) {
      if (paying.nonce !== this.nonceOf(paying.from)) continue;
      this.#blocks.at(-1)?.otherTransactions.push(paying);
      this.#nonces.set(paying.from, paying.nonce + 1n);
    }
  }

  /** Adds a signed wrapper to the pool as `addToPool`, in the place of one with the same nonce. */
  replaceInPool(raw: Uint8Array): void {
    const wrapper = decodeTransaction(raw);
    const waiver = bytesToHex(recoverSender(wrapper));
    this.#removeFromPool({ waiver, nonce: wrapper.nonce });
    this.addToPool(raw);
  }

  #removeFromPool({ waiver, nonce }: Pick<Wrapper, "waiver" | "nonce">): void {
    for (const [hash, other] of this.#pool)
      if (other.waiver === waiver && other.nonce === nonce) this.#pool.delete(hash);
  }

  /** Mines a block. It drops wrappers that can never run, and keeps those that cannot run yet for some blocks (D8). */
  mine(): void {
    this.#blocks.push({
      hash: fakeHash(`block ${this.height + 1} of fork ${this.#forks}`),
      timestamp: Math.floor(this.now() / 1_000),
      ran: [],
      otherTransactions: [],
    });
    this.#runPaying();
    this.#runAll();
    for (const wrapper of this.#pool.values()) {
      if (wrapper.nonce !== this.nonceOf(wrapper.waiver)) continue;
      const since = this.#heldSince.get(wrapper.hash) ?? this.height;
      this.#heldSince.set(wrapper.hash, since);
      if (this.keepsLeftOut || this.height - since < MAX_SKIPPED_BLOCKS) continue;
      this.#pool.delete(wrapper.hash);
      this.#heldSince.delete(wrapper.hash);
    }
  }

  /** Mines a block that changes the policy of a waiver; undefined revokes the waiver. */
  setPolicy(waiver: Hex, targets: readonly AllowedTarget[] | undefined): void {
    this.mine();
    this.registry?.change(this.height, waiver, targets);
  }

  /**
   * Removes the newest blocks with their transactions. The next blocks have other hashes.
   * @param keepsPool the pool has the wrappers of those blocks again.
   */
  reorg(depth: number, keepsPool = false): void {
    this.#forks++;
    for (const { ran, otherTransactions } of this.#blocks.splice(-depth).reverse()) {
      for (const { from, nonce } of otherTransactions.reverse()) this.#nonces.set(from, nonce);
      for (const { waiver, nonce, sender, senderNonce, hash, innerHash } of ran.reverse()) {
        this.#nonces.set(waiver, nonce);
        this.#nonces.set(sender, senderNonce);
        this.#receipts.delete(hash);
        this.#receipts.delete(innerHash);
        this.executed.splice(this.executed.lastIndexOf(innerHash), 1);
      }
      if (keepsPool) for (const wrapper of ran) this.#pool.set(wrapper.hash, wrapper);
    }
    this.registry?.removeAbove(this.height);
  }

  #runAll(): void {
    for (let ran = true; ran; ) {
      ran = false;
      for (const wrapper of this.#pool.values()) {
        if (wrapper.nonce > this.nonceOf(wrapper.waiver) || this.revoked.has(wrapper.waiver)) continue;
        if (wrapper.nonce === this.nonceOf(wrapper.waiver) && this.leftOut.has(wrapper.sender)) continue;
        if (
          wrapper.nonce === this.nonceOf(wrapper.waiver) &&
          wrapper.senderNonce > this.nonceOf(wrapper.sender)
        )
          continue;
        this.#pool.delete(wrapper.hash);
        ran = this.#execute(wrapper) || ran;
      }
    }
  }

  /** @param lag the number of blocks that the node is behind. */
  read(method: string, params: readonly unknown[], lag = 0): unknown {
    const [first] = params as [Hex];
    const head = Math.max(0, this.height - lag);
    switch (method) {
      case "eth_chainId":
        return quantity(this.chainId);
      case "eth_blockNumber":
        return quantity(head);
      case "eth_getBlockByNumber":
        return this.#block((first as string) === "latest" ? head : Number(first), params[1] === true, head);
      case "eth_getTransactionCount":
        return quantity(this.#nonceBy(first, params[1], head));
      case "eth_getBalance":
        return quantity(this.balances.get(first) ?? 0n);
      case "eth_getTransactionReceipt":
        return this.#receiptBy(first, head);
      case "eth_getTransactionByHash":
        return this.#pool.has(first) ? { hash: first } : this.#includedTransaction(first);
      default:
        return this.#readRegistry(method, params);
    }
  }

  #readRegistry(method: string, [first]: readonly unknown[]): unknown {
    const { registry } = this;
    if (registry !== undefined && method === "eth_call") {
      const { to, data } = first as { readonly to: Hex; readonly data: Hex };
      return to === bytesToHex(REGISTRY_ADDRESS) ? registry.call(data) : "0x";
    }
    if (registry !== undefined && method === "eth_getLogs" && !registry.withoutLogs) {
      return registry.logs(first as Parameters<ModelRegistry["logs"]>[0]);
    }
    throw new RefusedByNode(`the method ${method} does not exist`);
  }

  #find(hash: Hex): { readonly transaction: BlockTransaction; readonly height: number } | undefined {
    for (let height = this.height; height >= 0; height--) {
      const transaction = this.#transactionsAt(height).find((one) => one.hash === hash);
      if (transaction !== undefined) return { transaction, height };
    }
    return undefined;
  }

  #includedTransaction(hash: Hex): object | null {
    const { transaction, height } = this.#find(hash) ?? {};
    if (transaction === undefined || height === undefined) return null;
    return { ...transaction, nonce: quantity(transaction.nonce), blockNumber: quantity(height) };
  }

  /** The receipt of a transaction of other software; null for any other hash. */
  #receiptOfOther(hash: Hex): Receipt | null {
    const { height } = this.#find(hash) ?? {};
    if (height === undefined) return null;
    const blockHash = this.#blocks[height - 1]?.hash ?? this.genesisHash;
    return { blockNumber: quantity(height), blockHash, gasUsed: quantity(21_000), status: "0x1" };
  }

  #receiptBy(hash: Hex, head: number): (Receipt & { readonly transactionHash: Hex }) | null {
    const receipt = this.#receipts.get(hash) ?? this.#receiptOfOther(hash);
    return receipt === null || Number(receipt.blockNumber) > head
      ? null
      : { ...receipt, transactionHash: hash };
  }

  #block(number: number, withTransactions: boolean, head: number): object | null {
    if (number > head) return null;
    const hashAt = (height: number) => (height === 0 ? this.genesisHash : this.#blocks[height - 1]?.hash);
    const hash = hashAt(number);
    if (hash === undefined) return null;
    const transactions = this.#transactionsAt(number);
    return {
      number: quantity(number),
      hash,
      parentHash: hashAt(number - 1) ?? fakeHash("nothing"),
      timestamp: quantity(this.#blocks[number - 1]?.timestamp ?? this.#genesisTimestamp),
      transactions: withTransactions
        ? transactions.map((one) => ({ ...one, nonce: quantity(one.nonce), chainId: quantity(this.chainId) }))
        : transactions.map((one) => one.hash),
    };
  }

  #nonceBy(address: Hex, block: unknown, head: number): bigint {
    if (typeof block !== "string" || !block.startsWith("0x"))
      return head === this.height ? this.nonceOf(address) : this.nonceAt(address, head);
    const height = Number(block);
    if (height > head) throw new RefusedByNode("header not found");
    if (height < this.statesFrom) throw new RefusedByNode("missing trie node: state is not available");
    return this.nonceAt(address, height);
  }

  #assertAcceptable({ waiver, nonce, innerHash, sender, senderNonce, hash }: Wrapper): void {
    if (this.revoked.has(waiver))
      throw new RefusedByNode(`${waiver} is not a registered waiver`, "WAIVER_NOT_REGISTERED");
    const refusal = this.refused.get(innerHash);
    if (refusal) {
      const values = { check: "a rule", gasLimit: "21000", needed: "81000" };
      throw new RefusedByNode(`refused: ${refusal}`, refusal, values);
    }
    const next = this.#nextPendingNonce(waiver, ({ waiver: from }) => from === waiver);
    if (nonce < this.nonceOf(waiver)) throw new RefusedByNode("nonce too low", "WRAPPER_NONCE_TOO_LOW");
    if (this.pool === "strict" && nonce > next)
      throw new RefusedByNode(`invalid nonce; got ${nonce}, expected ${next}: invalid sequence`);
    if ([...this.#pool.values()].some((w) => w.waiver === waiver && w.nonce === nonce && w.hash !== hash))
      throw new RefusedByNode("replacement transaction underpriced");
    if (senderNonce < this.nonceOf(sender)) throw new RefusedByNode("inner nonce too low", "NONCE_TOO_LOW");
    const nextSenderNonce = this.#nextPendingNonce(sender, (w) => w.sender === sender);
    if (this.pool === "strict" && senderNonce > nextSenderNonce)
      throw new RefusedByNode("inner nonce too high", "NONCE_GAP");
  }

  /** The next nonce of an account after everything in the pool. A strict pool holds no gaps. */
  #nextPendingNonce(address: Hex, isCounted: (wrapper: Wrapper) => boolean): bigint {
    return this.nonceOf(address) + BigInt([...this.#pool.values()].filter(isCounted).length);
  }

  #execute(wrapper: Wrapper): boolean {
    const { waiver, nonce, sender, senderNonce, hash, innerHash } = wrapper;
    if (nonce !== this.nonceOf(waiver) || senderNonce !== this.nonceOf(sender)) return false;
    this.#nonces.set(waiver, nonce + 1n);
    this.#nonces.set(sender, senderNonce + 1n);
    this.executed.push(innerHash);
    const block = this.#blocks.at(-1);
    block?.ran.push(wrapper);
    const receipt = {
      blockNumber: quantity(this.height),
      blockHash: block?.hash ?? this.genesisHash,
      gasUsed: quantity(50_000),
      status: quantity(this.reverting.has(innerHash) ? 0 : 1),
    };
    this.#receipts.set(hash, receipt);
    this.#receipts.set(innerHash, receipt);
    return true;
  }
}

function quantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`;
}

function fakeHash(text: string): Hex {
  return bytesToHex(crypto.keccak256(new TextEncoder().encode(text)));
}
