/** The limit of what is counted under one name. A refusal says whose limit it is: the owner's. */
export type Share = readonly [name: string, limit: number, owner: string];

/** Counts by name. A count of 0 takes no memory. */
export class Tally {
  readonly #byName = new Map<string, number>();

  of(name: string): number {
    return this.#byName.get(name) ?? 0;
  }

  copy(): Tally {
    const copy = new Tally();
    for (const [name, count] of this.#byName) copy.add(name, count);
    return copy;
  }

  add(name: string, count: number): void {
    const sum = this.of(name) + count;
    if (sum === 0) this.#byName.delete(name);
    else this.#byName.set(name, sum);
  }

  /** Finds the first share whose limit `count` more would exceed. */
  full(shares: readonly Share[], count: number): Share | undefined {
    return shares.find(([name, limit]) => this.of(name) + count > limit);
  }

  /** Adds to each share. @param count negative to give it back. */
  addTo(shares: readonly Share[], count: number): void {
    for (const [name] of shares) this.add(name, count);
  }
}
