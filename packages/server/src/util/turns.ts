/** Runs one piece of work after the other, whether the one before has failed or not. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as the work does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when the work that was given so far is over. */
  async ended(): Promise<void> {
    await this.#last;
  }
}
