/** A nonce that was given out. The outcome of its transaction decides whether it is given out again. */
export interface TakenNonce {
  readonly nonce: number;
  /** The transaction will surely not run, so the next transaction gets the nonce. */
  release(): void;
  /** The transaction has run, will run or may run, so the nonce stays used. */
  keep(): void;
  /**
   * The service waited in vain for the nonce before this one: an earlier transaction failed, or the memory of used
   * nonces is wrong. It is forgotten; only nonces in flight still count.
   */
  gap(): void;
}

/**
 * Gives out the nonces of one sender. A transaction gets the lowest nonce that the chain has not counted and no other
 * transaction holds, in the order of the calls. The chain's count alone is not enough: it does not include what the
 * service has accepted and not yet sent.
 */
export class NonceSequence {
  /** The highest count that the chain told, so that a node that lags does not bring back used nonces. */
  #counted = 0;
  readonly #inFlight = new Set<number>();
  readonly #kept = new Set<number>();
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Takes the lowest free nonce.
   * @param count reads the sender's transaction count from the chain.
   * @param ready must succeed before a nonce is taken; later calls wait for it.
   */
  take(count: () => Promise<number>, ready: Promise<unknown>): Promise<TakenNonce> {
    const taken = this.#turn.then(async () => {
      await ready;
      this.#counted = Math.max(this.#counted, await count());
      for (const nonce of this.#kept) if (nonce < this.#counted) this.#kept.delete(nonce);
      let nonce = this.#counted;
      while (this.#inFlight.has(nonce) || this.#kept.has(nonce)) nonce++;
      return this.hold(nonce);
    });
    this.#turn = taken.catch(() => undefined);
    return taken;
  }

  /** Holds a nonce that the caller has chosen. */
  hold(nonce: number): TakenNonce {
    this.#inFlight.add(nonce);
    return {
      nonce,
      release: () => this.#inFlight.delete(nonce),
      keep: () => {
        this.#inFlight.delete(nonce);
        this.#kept.add(nonce);
      },
      gap: () => {
        this.#inFlight.delete(nonce);
        this.#kept.clear();
        this.#counted = 0;
      },
    };
  }
}
