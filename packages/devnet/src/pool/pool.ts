import type { ErrorValues, Hex } from "@gas-waiver/protocol";
import type { ChainTransaction } from "../block/transaction.js";
import type { Entry } from "./admission.js";
import { Claims } from "./claims.js";
import { RefusedError } from "./refusedError.js";

/** A transaction that was dropped when its block was built (D8), and why. */
export interface Dropped {
  readonly hash: Hex;
  /** Of the inner, for a wrapper. */
  readonly innerHash: Hex | undefined;
  readonly reason: string;
  readonly message: string;
}

const DROPS_REMEMBERED = 1_000;

export interface PoolLimits {
  /** Transactions in all. */
  readonly poolLimit: number;
  /** Of one signer. */
  readonly accountPoolLimit: number;
  /** Of one signer, behind a gap in its nonces. */
  readonly accountQueueLimit: number;
}

/**
 * Transactions that wait for a block, by signer and nonce. A gap is no obstacle: what comes after it waits
 * until it is filled. The pool knows nothing of rules: whatever {@link admit} let through is welcome.
 */
export class Pool {
  readonly #bySigner = new Map<Hex, Map<bigint, Entry>>();
  readonly #byHash = new Map<Hex, Entry>();
  /** By the inner's hash: several wrappers may carry the same inner, of which one can run. */
  readonly #byInnerHash = new Map<Hex, Set<Entry>>();
  readonly #claims = new Claims();
  readonly #listeners = new Set<(tx: ChainTransaction) => void>();
  readonly #drops: Dropped[] = [];
  /** Entries whose inner is ahead of its sender's nonce, and the block that first had to pass them over. */
  readonly #heldSince = new Map<Entry, bigint>();
  readonly #limits: PoolLimits;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#byHash.size;
  }

  /** The latest drops, oldest first. */
  get drops(): readonly Dropped[] {
    return this.#drops;
  }

  /**
   * @param next the signer's next nonce now: the entry may have been checked a moment ago.
   * @throws {@link RefusedError} for bytes it has, a nonce that is taken by one that pays as much, or when it
   * is full. Where one that pays less holds the nonce, it is replaced.
   */
  add(entry: Entry, next: bigint): void {
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

  /** Tells of each transaction that begins to wait; of a wrapper, and then of its inner. @returns how to stop. */
  onTransaction(listener: (tx: ChainTransaction) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #put(entry: Entry): void {
    const lane = this.#bySigner.get(entry.signer) ?? new Map<bigint, Entry>();
    lane.set(entry.nonce, entry);
    this.#bySigner.set(entry.signer, lane);
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

  remove(entry: Entry): void {
    if (!this.#byHash.delete(entry.tx.hash)) return;
    this.#heldSince.delete(entry);
    const lane = this.#bySigner.get(entry.signer);
    lane?.delete(entry.nonce);
    if (lane?.size === 0) this.#bySigner.delete(entry.signer);
    this.#claims.add(entry, -1);
    if (entry.kind === "wrapper") {
      const carriers = this.#byInnerHash.get(entry.inner.hash);
      carriers?.delete(entry);
      if (carriers?.size === 0) this.#byInnerHash.delete(entry.inner.hash);
    }
  }

  drop(entry: Entry, reason: string, message: string): void {
    this.remove(entry);
    const innerHash = entry.kind === "wrapper" ? entry.inner.hash : undefined;
    this.#drops.push({ hash: entry.tx.hash, innerHash, reason, message });
    if (this.#drops.length > DROPS_REMEMBERED) this.#drops.shift();
  }

  /** Notes that a block passes an entry over. @returns how many blocks have done so before. */
  hold(entry: Entry, block: bigint): bigint {
    const since = this.#heldSince.get(entry) ?? block;
    this.#heldSince.set(entry, since);
    return block - since;
  }

  /** All that waits, in the order in which it came. */
  entries(): Entry[] {
    return [...this.#byHash.values()];
  }

  /** Lets go of everything and takes these instead, as they are. */
  replaceAll(entries: readonly Entry[]): void {
    for (const entry of this.entries()) this.remove(entry);
    for (const entry of entries) this.#put(entry);
  }

  /** Signers with something in the pool, in the order in which they first came. */
  signers(): Hex[] {
    return [...this.#bySigner.keys()];
  }

  get(signer: Hex, nonce: bigint): Entry | undefined {
    return this.#bySigner.get(signer)?.get(nonce);
  }

  /** A waiting transaction by its own hash, inners included. */
  find(hash: Hex): { readonly entry: Entry; readonly tx: ChainTransaction } | undefined {
    const entry = this.#byHash.get(hash);
    if (entry !== undefined) return { entry, tx: entry.tx };
    for (const carrier of this.#byInnerHash.get(hash) ?? []) {
      if (carrier.kind === "wrapper") return { entry: carrier, tx: carrier.inner };
    }
    return undefined;
  }

  /** The first nonce from `next` on that nothing in the pool would use. */
  nextNonce(account: Hex, next: bigint): bigint {
    return this.#claims.nextFree(account, next);
  }

  /** Drops what a signer's nonce has passed. */
  prune(signer: Hex, next: bigint): void {
    for (const entry of [...(this.#bySigner.get(signer)?.values() ?? [])]) {
      if (entry.nonce < next)
        this.drop(entry, "NONCE_TOO_LOW", `nonce ${entry.nonce} was used by another transaction`);
    }
  }

  /**
   * Checks what waits once more, in the order in which it came, and drops what is no longer the very next of its
   * signer and its inner's sender: so an eviction takes with it what came after.
   */
  recheckSequence(nonceOf: (account: Hex) => bigint): void {
    const expected = new Map<Hex, bigint>();
    const expectedOf = (account: Hex) => expected.get(account) ?? nonceOf(account);
    for (const entry of this.entries()) {
      const { signer, nonce } = entry;
      const inner =
        entry.kind === "wrapper" ? { sender: entry.inner.sender, nonce: entry.innerNonce } : undefined;
      // A waiver's own wrapper raises its nonce just before the inner runs.
      const own = inner?.sender === signer ? 1n : 0n;
      if (nonce !== expectedOf(signer)) {
        const prefix = inner ? "WRAPPER_" : "";
        this.drop(
          entry,
          `${prefix}NONCE_GAP`,
          `nonce ${expectedOf(signer)} of ${signer} is gone from the pool`,
        );
      } else if (inner && inner.nonce !== expectedOf(inner.sender) + own) {
        const missing = expectedOf(inner.sender) + own;
        this.drop(entry, "NONCE_GAP", `nonce ${missing} of ${inner.sender} is gone from the pool`);
      } else {
        expected.set(signer, nonce + 1n);
        if (inner) expected.set(inner.sender, inner.nonce + 1n);
      }
    }
  }

  #assertRoom({ signer, nonce }: Entry, next: bigint): void {
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

/** As geth's: both fees have to rise by a tenth. A price of 0 never does, so nothing of a waiver is replaced. */
function assertReplaces(entry: Entry, holder: Entry): void {
  const [[tip, cap], [oldTip, oldCap]] = [feesOf(entry), feesOf(holder)];
  const raised = (fee: bigint, old: bigint) => fee > old && fee * 100n >= old * 110n;
  if (raised(tip, oldTip) && raised(cap, oldCap)) return;
  throw new RefusedError(
    "REPLACEMENT_UNDERPRICED",
    `replacement transaction underpriced: ${holder.tx.hash} holds nonce ${entry.nonce} of ${entry.signer}, and only a price a tenth higher replaces it`,
    { holder: holder.tx.hash, nonce: entry.nonce.toString(), signer: entry.signer },
  );
}

/** The tip and the cap, in wei per gas; the same for a transaction that has one price. */
function feesOf(entry: Entry): readonly [bigint, bigint] {
  if (entry.kind === "wrapper") return [0n, 0n];
  const { evm } = entry;
  return "maxFeePerGas" in evm ? [evm.maxPriorityFeePerGas, evm.maxFeePerGas] : [evm.gasPrice, evm.gasPrice];
}

function full(why: string, values: ErrorValues): RefusedError {
  return new RefusedError("POOL_FULL", `txpool is full: ${why}`, values);
}
