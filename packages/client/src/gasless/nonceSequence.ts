/**
 * A nonce that was given to a transaction. The outcome of its transaction decides whether it is given out again; what is told
 * later replaces what was told before.
 */
export interface NonceReservation {
  readonly nonce: number;
  /** The transaction will surely not run, so the next transaction gets the nonce. */
  release(): void;
  /** The transaction has run, will run or may run, so the nonce stays used. */
  markUsed(): void;
  /**
   * The service waited in vain for the nonce before this one: an earlier transaction failed, or a remembered nonce was not
   * used. All remembered nonces are forgotten; only those in flight still count.
   */
  forgetUsed(): void;
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
  readonly #used = new Set<number>();
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Reserves the lowest free nonce, or the one that the caller has chosen.
   * @param count reads the sender's transaction count from the chain.
   * @param ready must succeed before the lowest nonce is reserved; later calls wait for it.
   */
  async reserve(
    count: () => Promise<number>,
    ready: Promise<unknown>,
    chosen?: number,
  ): Promise<NonceReservation> {
    if (chosen !== undefined) return this.reserveChosen(chosen);
    const reservation = this.#turn.then(async () => {
      await ready;
      this.#counted = Math.max(this.#counted, await count());
      for (const nonce of this.#used) if (nonce < this.#counted) this.#used.delete(nonce);
      let nonce = this.#counted;
      while (this.#inFlight.has(nonce) || this.#used.has(nonce)) nonce++;
      return this.reserveChosen(nonce);
    });
    this.#turn = reservation.catch(() => undefined);
    return await reservation;
  }

  /** Reserves a nonce that somebody else has chosen. */
  reserveChosen(nonce: number): NonceReservation {
    this.#inFlight.add(nonce);
    let hasMarked = false;
    return {
      nonce,
      release: () => {
        this.#inFlight.delete(nonce);
        if (hasMarked) this.#used.delete(nonce);
      },
      markUsed: () => {
        this.#inFlight.delete(nonce);
        this.#used.add(nonce);
        hasMarked = true;
      },
      forgetUsed: () => {
        this.#inFlight.delete(nonce);
        this.#used.clear();
        this.#counted = 0;
      },
    };
  }
}

/** The sequences of all senders. */
export class NonceSequences {
  readonly #bySender = new Map<string, NonceSequence>();

  of(sender: string): NonceSequence {
    const key = sender.toLowerCase();
    const sequence = this.#bySender.get(key) ?? new NonceSequence();
    this.#bySender.set(key, sequence);
    return sequence;
  }
}
