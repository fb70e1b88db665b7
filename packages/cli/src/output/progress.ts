const EVERY_MS = 200;

/** A line of a terminal that tells how far a work is and how fast it goes. Without a terminal nothing is shown. */
export class Progress {
  readonly #show: ((line: string) => void) | undefined;
  readonly #startedAt = performance.now();
  #shownAt = Number.NEGATIVE_INFINITY;
  #earlier: number | undefined;

  /** @param earlier the part that was done by an earlier run, which says nothing of the speed of this one; by default the first one that is shown. */
  constructor(show: ((line: string) => void) | undefined, earlier?: number) {
    this.#show = show;
    this.#earlier = earlier;
  }

  /**
   * Shows the state, a few times a second.
   * @param isLast true for a state that is always shown.
   */
  update(done: number, lineOf: (perSecond: number) => string, isLast = false): void {
    this.#earlier ??= done;
    const now = performance.now();
    if (this.#show === undefined || (!isLast && now - this.#shownAt < EVERY_MS)) return;
    this.#shownAt = now;
    this.#show(lineOf(((done - this.#earlier) * 1_000) / Math.max(1, now - this.#startedAt)));
  }

  /** Removes the line. */
  end(): void {
    this.#show?.("");
  }
}
