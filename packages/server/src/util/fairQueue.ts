import { forgetOldest } from "./forgetOldest.js";

/** An item that waits, and what its party is charged when it is taken. */
interface Priced<T> {
  readonly item: T;
  readonly price: number;
}

/** The ends of parties that have nothing waiting. There may be any number of addresses. */
const MAX_ENDS = 10_000;

/** Names a party and its parts, the widest first: a key, an address under it, a kind of request of that address. */
export type FlowPath = readonly string[];

/**
 * A queue in virtual time (start-time fair queueing). Whatever is taken moves its party ahead by its price, and the party that is
 * the least far ahead is next. So the parties get equal shares of what things cost, and a party with little to do is served before
 * a flood, however long that has waited. So are the parts of a party within its share, and theirs within them.
 */
export class FairQueue<T> {
  readonly #all = new Flow<T>("", undefined);
  #size = 0;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns a function that takes the item out, if it still waits. */
  add(path: FlowPath, item: T, price = 1): () => void {
    const flow = path.reduce((whole, name) => whole.open(name), this.#all);
    const priced = { item, price };
    flow.items.add(priced);
    this.#size++;
    return () => {
      if (flow.items.delete(priced)) this.#onRemoved(flow);
    };
  }

  /**
   * Takes out the next item.
   * @param mayTake decides about the item whose turn it is in a part. If it may not be taken, the next part of the party
   *   has its turn, then the next party.
   */
  take(mayTake: (item: T) => boolean = () => true): T | undefined {
    const next = this.#all.next(mayTake);
    if (next === undefined) return undefined;
    const { flow, priced } = next;
    flow.items.delete(priced);
    for (let one = flow; one.whole; one = one.whole) one.whole.charge(one, priced.price);
    this.#onRemoved(flow);
    return priced.item;
  }

  #onRemoved(flow: Flow<T>): void {
    this.#size--;
    for (let one = flow; one.whole && one.isEmpty; one = one.whole) one.whole.close(one);
  }
}

/** A party or a part that has something waiting: items of its own, or parts. */
class Flow<T> {
  readonly name: string;
  /** The flow that this one is a part of. */
  readonly whole: Flow<T> | undefined;
  readonly items = new Set<Priced<T>>();
  /** Its start tag among the parts of the whole. */
  start = 0;
  /** Its parts, by their start tags. */
  readonly #inOrder: Flow<T>[] = [];
  readonly #byName = new Map<string, Flow<T>>();
  /** The start tags of parts that have nothing waiting and are ahead of the time. */
  readonly #ends = new Map<string, number>();
  /** The start tag of the item that was taken last. */
  #time = 0;

  constructor(name: string, whole: Flow<T> | undefined) {
    this.name = name;
    this.whole = whole;
  }

  get isEmpty(): boolean {
    return this.items.size === 0 && this.#inOrder.length === 0;
  }

  open(name: string): Flow<T> {
    const known = this.#byName.get(name);
    if (known) return known;
    const part = new Flow(name, this);
    part.start = Math.max(this.#time, this.#ends.get(name) ?? 0);
    this.#ends.delete(name);
    this.#byName.set(name, part);
    this.#insert(part);
    return part;
  }

  /** Finds the first item that may be taken. */
  next(mayTake: (item: T) => boolean): { flow: Flow<T>; priced: Priced<T> } | undefined {
    const [priced] = this.items;
    if (priced !== undefined) return mayTake(priced.item) ? { flow: this, priced } : undefined;
    for (const part of this.#inOrder) {
      const next = part.next(mayTake);
      if (next) return next;
    }
    return undefined;
  }

  /** Charges a part of which something was taken. */
  charge(part: Flow<T>, price: number): void {
    this.#remove(part);
    this.#time = Math.max(this.#time, part.start);
    // A party that could not be served for a while has no turns to make up for.
    part.start = this.#time + price;
    this.#insert(part);
  }

  /** Takes out a part that has nothing waiting any more. */
  close(part: Flow<T>): void {
    this.#remove(part);
    this.#byName.delete(part.name);
    if (this.#inOrder.length === 0) {
      // Whoever comes next finds nobody to share with.
      this.#ends.clear();
      this.#time = 0;
    } else if (part.start > this.#time) {
      this.#ends.set(part.name, part.start);
      forgetOldest(this.#ends, MAX_ENDS);
    }
  }

  #insert(part: Flow<T>): void {
    let at = this.#inOrder.length;
    while (at > 0 && (this.#inOrder[at - 1]?.start ?? 0) > part.start) at--;
    this.#inOrder.splice(at, 0, part);
  }

  #remove(part: Flow<T>): void {
    this.#inOrder.splice(this.#inOrder.indexOf(part), 1);
  }
}
