import type { Hex } from "@gas-waiver/protocol";
import type { Entry } from "./admission.js";
import { RefusedError } from "./refusal.js";
import type { ChainTransaction } from "./transaction.js";

/** A transaction that was dropped when its block was built (D8), and why. */
export interface Dropped {
  readonly hash: Hex;
  /** Of the inner, for a wrapper. */
  readonly innerHash: Hex | undefined;
  readonly reason: string;
  readonly message: string;
}

const DROPS_REMEMBERED = 1_000;

/**
 * Transactions that wait for a block, by signer and nonce. A gap is no obstacle: what comes after it waits
 * until it is filled. The pool knows nothing of rules: whatever {@link admit} let through is welcome.
 */
export class Pool {
  readonly #bySigner = new Map<Hex, Map<bigint, Entry>>();
  readonly #byHash = new Map<Hex, Entry>();
  /** By the inner's hash: several wrappers may carry the same inner, of which one can run. */
  readonly #byInnerHash = new Map<Hex, Set<Entry>>();
  /** Which nonces of an account transactions in the pool would use, as signer or as inner sender. */
  readonly #claims = new Map<Hex, Map<bigint, number>>();
  readonly #drops: Dropped[] = [];
  /** Entries whose inner is ahead of its sender's nonce, and the block that first had to pass them over. */
  readonly #heldSince = new Map<Entry, bigint>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
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
   * @throws {@link RefusedError} for bytes it has, a nonce that is taken, or when it is full.
   */
  add(entry: Entry, next: bigint): void {
    this.assertUnknown(entry.tx.hash);
    const lane = this.#bySigner.get(entry.signer) ?? new Map<bigint, Entry>();
    const holder = lane.get(entry.nonce);
    if (holder !== undefined) {
      throw new RefusedError(
        "REPLACEMENT_UNDERPRICED",
        `replacement transaction underpriced: ${holder.tx.hash} holds nonce ${entry.nonce} of ${entry.signer}, and nothing replaces it`,
        { holder: holder.tx.hash, nonce: entry.nonce.toString(), signer: entry.signer },
      );
    }
    if (entry.nonce < next) {
      throw new RefusedError(
        entry.kind === "wrapper" ? "WRAPPER_NONCE_TOO_LOW" : "NONCE_TOO_LOW",
        `nonce too low: next nonce ${next}, tx nonce ${entry.nonce}`,
        { nonce: entry.nonce.toString(), expected: next.toString() },
      );
    }
    if (this.size >= this.#limit) {
      throw new RefusedError("POOL_FULL", `txpool is full: it holds ${this.size} transactions`, {
        limit: this.#limit,
      });
    }
    lane.set(entry.nonce, entry);
    this.#bySigner.set(entry.signer, lane);
    this.#byHash.set(entry.tx.hash, entry);
    this.#claim(entry, 1);
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
    this.#claim(entry, -1);
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
    for (const entry of entries) this.add(entry, 0n);
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
    const claims = this.#claims.get(account);
    let nonce = next;
    while (claims?.has(nonce)) nonce++;
    return nonce;
  }

  /** Drops what a signer's nonce has passed. */
  prune(signer: Hex, next: bigint): void {
    for (const entry of [...(this.#bySigner.get(signer)?.values() ?? [])]) {
      if (entry.nonce < next)
        this.drop(entry, "NONCE_TOO_LOW", `nonce ${entry.nonce} was used by another transaction`);
    }
  }

  #claim(entry: Entry, by: 1 | -1): void {
    this.#countClaim(entry.signer, entry.nonce, by);
    if (entry.kind === "wrapper") this.#countClaim(entry.inner.sender, entry.innerNonce, by);
  }

  #countClaim(account: Hex, nonce: bigint, by: 1 | -1): void {
    const claims = this.#claims.get(account) ?? new Map<bigint, number>();
    const count = (claims.get(nonce) ?? 0) + by;
    if (count > 0) claims.set(nonce, count);
    else claims.delete(nonce);
    if (claims.size > 0) this.#claims.set(account, claims);
    else this.#claims.delete(account);
  }
}
