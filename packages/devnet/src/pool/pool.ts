import type { ErrorValues, Hex } from "@gas-waiver/protocol";
import type { ChainTransaction } from "../block/transaction.js";
import { feesOf } from "../evm/gasPrice.js";
import type { DroppedTransaction } from "../reports.js";
import type { PoolEntry } from "./admission.js";
import { NonceClaims } from "./nonceClaims.js";
import { RefusedError } from "./refusedError.js";

const MAX_REMEMBERED_DROPS = 1_000;

export interface PoolLimits {
  /** The most transactions in all. */
  readonly poolLimit: number;
  /** The most transactions of one signer. */
  readonly accountPoolLimit: number;
  /** The most transactions of one signer behind a gap in its nonces. */
  readonly accountQueueLimit: number;
}

/**
 * Holds the transactions that wait for a block, by signer and nonce. Transactions behind a nonce gap wait until it is
 * filled. The pool checks no rules of transactions; callers add only admitted entries.
 */
export class Pool {
  readonly #bySigner = new Map<Hex, Map<bigint, PoolEntry>>();
  readonly #byHash = new Map<Hex, PoolEntry>();
  /** Keyed by the inner's hash. Several wrappers may carry the same inner; only one of them can run. */
  readonly #byInnerHash = new Map<Hex, Set<PoolEntry>>();
  readonly #claims = new NonceClaims();
  readonly #listeners = new Set<(tx: ChainTransaction) => void>();
  readonly #drops: DroppedTransaction[] = [];
  /** Entries whose inner is ahead of its sender's nonce, with the first block that passed them over. */
  readonly #heldSince = new Map<PoolEntry, bigint>();
  readonly #limits: PoolLimits;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#byHash.size;
  }

  /** The latest drops, oldest first. */
  get drops(): readonly DroppedTransaction[] {
    return this.#drops;
  }

  /**
   * Adds an entry. It replaces an entry with the same nonce that pays less.
   * @param next the signer's next nonce now; it may have risen since the entry was checked.
   * @throws {@link RefusedError} for known bytes, a used nonce, a nonce whose holder pays as much, or a full pool.
   */
  add(entry: PoolEntry, next: bigint): void {
    this.assertUnknown(entry.tx.hash);
    const holder = this.get(entry.signer, entry.nonce);
    if (holder !== undefined) assertReplaces(entry, holder);
    if (entry.nonce < next) {
      throw new RefusedError(
        entry.kind === "wrapper" ? "WRAPPER_NONCE_TOO_LOW" : "NONCE_TOO_LOW",
        `nonce too low: next nonce ${next}, tx nonce ${entry.nonce}`,
        { nonce: entry.nonce.toString(), expected: next.toString() },
      );
    }
    if (holder === undefined) this.#assertRoom(entry, next);
    else this.drop(holder, "REPLACED", `${entry.tx.hash} pays more for nonce ${entry.nonce}`);
    this.#put(entry);
    for (const listener of this.#listeners) {
      listener(entry.tx);
      if (entry.kind === "wrapper") listener(entry.inner);
    }
  }

  /** Reports each added transaction; for a wrapper also its inner. @returns the function that unsubscribes. */
  onTransaction(listener: (tx: ChainTransaction) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #put(entry: PoolEntry): void {
    const queue = this.#bySigner.get(entry.signer) ?? new Map<bigint, PoolEntry>();
    queue.set(entry.nonce, entry);
    this.#bySigner.set(entry.signer, queue);
    this.#byHash.set(entry.tx.hash, entry);
    this.#claims.add(entry, 1);
    if (entry.kind === "wrapper") {
      const carriers = this.#byInnerHash.get(entry.inner.hash) ?? new Set();
      this.#byInnerHash.set(entry.inner.hash, carriers.add(entry));
    }
  }

  /** @throws {@link RefusedError} `ALREADY_KNOWN` for the same bytes. */
  assertUnknown(hash: Hex): void {
    if (!this.#byHash.has(hash)) return;
    throw new RefusedError("ALREADY_KNOWN", `already known: ${hash} is in the pool`, { hash });
  }

  remove(entry: PoolEntry): void {
    if (!this.#byHash.delete(entry.tx.hash)) return;
    this.#heldSince.delete(entry);
    const queue = this.#bySigner.get(entry.signer);
    queue?.delete(entry.nonce);
    if (queue?.size === 0) this.#bySigner.delete(entry.signer);
    this.#claims.add(entry, -1);
    if (entry.kind === "wrapper") {
      const carriers = this.#byInnerHash.get(entry.inner.hash);
      carriers?.delete(entry);
      if (carriers?.size === 0) this.#byInnerHash.delete(entry.inner.hash);
    }
  }

  drop(entry: PoolEntry, reason: string, message: string): void {
    this.remove(entry);
    const innerHash = entry.kind === "wrapper" ? entry.inner.hash : undefined;
    this.#drops.push({ hash: entry.tx.hash, innerHash, reason, message });
    if (this.#drops.length > MAX_REMEMBERED_DROPS) this.#drops.shift();
  }

  /** Records that a block passes an entry over. @returns the number of blocks since the first that did. */
  hold(entry: PoolEntry, block: bigint): bigint {
    const since = this.#heldSince.get(entry) ?? block;
    this.#heldSince.set(entry, since);
    return block - since;
  }

  /** All entries, oldest first. */
  entries(): PoolEntry[] {
    return [...this.#byHash.values()];
  }

  /** Replaces all entries, without checks. */
  replaceAll(entries: readonly PoolEntry[]): void {
    for (const entry of this.entries()) this.remove(entry);
    for (const entry of entries) this.#put(entry);
  }

  /** The signers with entries, in the order of their first entry. */
  signers(): Hex[] {
    return [...this.#bySigner.keys()];
  }

  get(signer: Hex, nonce: bigint): PoolEntry | undefined {
    return this.#bySigner.get(signer)?.get(nonce);
  }

  /** Finds a waiting transaction by its own hash. Finds inner transactions too. */
  find(hash: Hex): { readonly entry: PoolEntry; readonly tx: ChainTransaction } | undefined {
    const entry = this.#byHash.get(hash);
    if (entry !== undefined) return { entry, tx: entry.tx };
    for (const carrier of this.#byInnerHash.get(hash) ?? []) {
      if (carrier.kind === "wrapper") return { entry: carrier, tx: carrier.inner };
    }
    return undefined;
  }

  /** The lowest nonce from `next` on that no entry would use. */
  nextNonce(account: Hex, next: bigint): bigint {
    return this.#claims.nextFree(account, next);
  }

  /** Drops the entries of a signer below its next nonce. */
  prune(signer: Hex, next: bigint): void {
    for (const entry of [...(this.#bySigner.get(signer)?.values() ?? [])]) {
      if (entry.nonce < next)
        this.drop(entry, "NONCE_TOO_LOW", `nonce ${entry.nonce} was used by another transaction`);
    }
  }

  /**
   * Checks all entries again, oldest first, and drops those whose nonce no longer directly follows, for the signer or
   * for the inner's sender. An eviction thus also removes the entries that came after it.
   */
  recheckSequence(nonceOf: (account: Hex) => bigint): void {
    const expected = new Map<Hex, bigint>();
    const expectedOf = (account: Hex) => expected.get(account) ?? nonceOf(account);
    for (const entry of this.entries()) {
      const { signer, nonce } = entry;
      const inner =
        entry.kind === "wrapper" ? { sender: entry.inner.sender, nonce: entry.innerNonce } : undefined;
      // If a waiver wraps its own transaction, the wrapper raises its nonce before the inner runs.
      const wrapperNonces = inner?.sender === signer ? 1n : 0n;
      if (nonce !== expectedOf(signer)) {
        const prefix = inner ? "WRAPPER_" : "";
        this.drop(
          entry,
          `${prefix}NONCE_GAP`,
          `nonce ${expectedOf(signer)} of ${signer} is gone from the pool`,
        );
      } else if (inner && inner.nonce !== expectedOf(inner.sender) + wrapperNonces) {
        const missing = expectedOf(inner.sender) + wrapperNonces;
        this.drop(entry, "NONCE_GAP", `nonce ${missing} of ${inner.sender} is gone from the pool`);
      } else {
        expected.set(signer, nonce + 1n);
        if (inner) expected.set(inner.sender, inner.nonce + 1n);
      }
    }
  }

  #assertRoom({ signer, nonce }: PoolEntry, next: bigint): void {
    const { poolLimit, accountPoolLimit, accountQueueLimit } = this.#limits;
    if (this.size >= poolLimit) {
      throw full(`it holds ${this.size} transactions`, { limit: poolLimit });
    }
    const waiting = this.#bySigner.get(signer)?.size ?? 0;
    if (waiting >= accountPoolLimit) {
      throw full(`${signer} has ${waiting} transactions in it`, { limit: accountPoolLimit, signer });
    }
    const free = this.nextNonce(signer, next);
    const behindGap = BigInt(waiting) - (free - next);
    if (nonce > free && behindGap >= accountQueueLimit) {
      throw full(`${signer} has ${behindGap} transactions behind a gap, nonce ${free} is missing`, {
        limit: accountQueueLimit,
        signer,
      });
    }
  }
}

/** Both fees have to rise by a tenth, as in geth. A wrapper's price is 0, so wrappers are never replaced. */
function assertReplaces(entry: PoolEntry, holder: PoolEntry): void {
  const [[tip, cap], [oldTip, oldCap]] = [entryFees(entry), entryFees(holder)];
  const raised = (fee: bigint, old: bigint) => fee > old && fee * 100n >= old * 110n;
  if (raised(tip, oldTip) && raised(cap, oldCap)) return;
  throw new RefusedError(
    "REPLACEMENT_UNDERPRICED",
    `replacement transaction underpriced: ${holder.tx.hash} holds nonce ${entry.nonce} of ${entry.signer}, and only a price a tenth higher replaces it`,
    { holder: holder.tx.hash, nonce: entry.nonce.toString(), signer: entry.signer },
  );
}

/** The tip and the fee cap in wei per gas. */
function entryFees(entry: PoolEntry): readonly [bigint, bigint] {
  return entry.kind === "wrapper" ? [0n, 0n] : feesOf(entry.evm);
}

function full(why: string, values: ErrorValues): RefusedError {
  return new RefusedError("POOL_FULL", `txpool is full: ${why}`, values);
}
