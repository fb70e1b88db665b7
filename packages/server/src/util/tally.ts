/** Numbers by name, and in all. A name of nothing takes no memory. */
export class Tally {
  readonly #byName = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(name: string): number {
    return this.#byName.get(name) ?? 0;
  }

  add(name: string, count: number): void {
    this.#total += count;
    const sum = this.of(name) + count;
    if (sum === 0) this.#byName.delete(name);
    else this.#byName.set(name, sum);
  }
}
