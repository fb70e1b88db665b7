/** A nonce that was given out; how its transaction ended decides whether it is given out again. */
export interface TakenNonce {
  readonly nonce: number;
  /** The transaction will surely not run: the nonce is the next one's. */
  release(): void;
  /** The transaction has run, will run or may run. */
  keep(): void;
  /**
   * The service waited in vain for the nonce before this one: what is remembered of earlier ones is wrong, or one of
   * them failed. Only those under way still count.
   */
  gap(): void;
}

/**
 * The nonces of one sender. A transaction gets the lowest one that neither the chain has counted nor another
 * transaction holds, in the order of the calls. The chain alone cannot say: it does not know what the service has
 * accepted and not yet sent.
 */
export class NonceSequence {
  /** The highest count that the chain told: a node that lags behind does not bring back what is used. */
  #counted = 0;
  readonly #underWay = new Set<number>();
  readonly #kept = new Set<number>();
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * @param count asks the chain for the sender's transaction count.
   * @param ready what must have succeeded before a nonce is taken; those that come later wait for it.
   */
  take(count: () => Promise<number>, ready: Promise<unknown>): Promise<TakenNonce> {
    const taken = this.#turn.then(async () => {
      await ready;
      this.#counted = Math.max(this.#counted, await count());
      for (const nonce of this.#kept) if (nonce < this.#counted) this.#kept.delete(nonce);
      let nonce = this.#counted;
      while (this.#underWay.has(nonce) || this.#kept.has(nonce)) nonce++;
      return this.hold(nonce);
    });
    this.#turn = taken.catch(() => undefined);
    return taken;
  }

  /** Holds a nonce that the caller has chosen. */
  hold(nonce: number): TakenNonce {
    this.#underWay.add(nonce);
    return {
      nonce,
      release: () => this.#underWay.delete(nonce),
      keep: () => {
        this.#underWay.delete(nonce);
        this.#kept.add(nonce);
      },
      gap: () => {
        this.#underWay.delete(nonce);
        this.#kept.clear();
        this.#counted = 0;
      },
    };
  }
}
