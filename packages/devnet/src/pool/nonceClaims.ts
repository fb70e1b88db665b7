import type { Hex } from "@gas-waiver/protocol";
import type { PoolEntry } from "./admission.js";

interface ClaimedRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** Counts which nonces of each account the pool's transactions would use, as signer or as sender of an inner. */
export class NonceClaims {
  readonly #byAccount = new Map<Hex, Map<bigint, number>>();
  /** A range of nonces that are all claimed, `to` excluded. It spares {@link nextFree} a search from the start. */
  readonly #runs = new Map<Hex, ClaimedRange>();

  /** @param change 1 for an entry that is added, -1 for one that is removed. */
  add(entry: PoolEntry, change: 1 | -1): void {
    this.#count(entry.signer, entry.nonce, change);
    if (entry.kind === "wrapper") this.#count(entry.inner.sender, entry.innerNonce, change);
  }

  /** The lowest unclaimed nonce that is at least `next`. */
  nextFree(account: Hex, next: bigint): bigint {
    const claims = this.#byAccount.get(account);
    if (claims === undefined) return next;
    const run = this.#runs.get(account);
    const isInRun = run !== undefined && run.from <= next && next <= run.to;
    let nonce = isInRun ? run.to : next;
    while (claims.has(nonce)) nonce++;
    this.#runs.set(account, { from: isInRun ? run.from : next, to: nonce });
    return nonce;
  }

  #count(account: Hex, nonce: bigint, change: 1 | -1): void {
    const claims = this.#byAccount.get(account) ?? new Map<bigint, number>();
    const count = (claims.get(nonce) ?? 0) + change;
    if (count > 0) claims.set(nonce, count);
    else this.#free(account, claims, nonce);
    if (claims.size > 0) this.#byAccount.set(account, claims);
    else {
      this.#byAccount.delete(account);
      this.#runs.delete(account);
    }
  }

  #free(account: Hex, claims: Map<bigint, number>, nonce: bigint): void {
    claims.delete(nonce);
    const run = this.#runs.get(account);
    if (run === undefined || nonce < run.from || nonce >= run.to) return;
    // Blocks use the lowest nonce first, so the rest of the run stays valid.
    this.#runs.set(
      account,
      nonce === run.from ? { from: nonce + 1n, to: run.to } : { from: run.from, to: nonce },
    );
  }
}
