/** Keeps the slowest of many requests. */
export class Slowest {
  #list = [];
  #count;

  constructor(count) {
    this.#count = count;
  }

  add(one) {
    this.#list.push(one);
    if (this.#list.length > 2 * this.#count + 100) this.#cut();
  }

  /** The slowest first. */
  get list() {
    this.#cut();
    return this.#list;
  }

  #cut() {
    this.#list = this.#list.sort((a, b) => b.ms - a.ms).slice(0, this.#count);
  }
}
