/** A limit that something counts against. The owner tells in a refusal whose limit it is. */
export type Share = readonly [name: string, most: number, owner: string];

/** Numbers by name. A name of nothing takes no memory. */
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

  /** Finds the first share that has no room for so many more. */
  full(shares: readonly Share[], count: number): Share | undefined {
    return shares.find(([name, most]) => this.of(name) + count > most);
  }

  /** Counts against all shares. @param count negative where it is given back. */
  addTo(shares: readonly Share[], count: number): void {
    for (const [name] of shares) this.add(name, count);
  }
}
