import { forgetOldest } from "./forgetOldest.js";
import { putInOrder, takeInOrder } from "./inOrder.js";

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
 * A queue in virtual time (fair queueing). Whatever is taken moves its party ahead by its price, and the party that will be the least
 * far ahead is next. So the parties get equal shares of what things cost, and a party with little to do is served before
 * a flood, however long that has waited. So are the parts of a party within its share, and theirs within them.
 */
export class FairQueue<T> {
  readonly #all: Flow<T>;
  #size = 0;

  /** @param credit the price by which a party that had less than the others, or nothing, goes before them. */
  constructor(credit = 0) {
    this.#all = new Flow("", undefined, credit);
  }

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
    flow.place();
    this.#size++;
    return () => {
      if (flow.items.delete(priced)) this.#onRemoved(flow);
    };
  }

  /**
   * Takes out the next item.
   * @param mayTake decides about the item whose turn it is in a part. If it may not be taken, the next part of the party
   *   has its turn, then the next party.
   * @param within this party or part alone.
   */
  take(mayTake: (item: T) => boolean = () => true, within: FlowPath = []): T | undefined {
    const whole = within.reduce<Flow<T> | undefined>((flow, name) => flow?.part(name), this.#all);
    const next = whole?.next(mayTake);
    if (next === undefined) return undefined;
    const { flow, priced } = next;
    flow.items.delete(priced);
    flow.charge(priced.price);
    this.#onRemoved(flow);
    return priced.item;
  }

  #onRemoved(flow: Flow<T>): void {
    this.#size--;
    flow.place();
  }
}

const endOf = ({ end = 0 }: { readonly end: number | undefined }) => end;

/** A party or a part that has something waiting: items of its own, or parts. */
class Flow<T> {
  readonly name: string;
  /** The flow that this one is a part of. */
  readonly whole: Flow<T> | undefined;
  readonly items = new Set<Priced<T>>();
  /** Its start tag among the parts of the whole. */
  #start: number;
  /** The end tag by which it stands among them; undefined while it does not. */
  end: number | undefined;
  /** Its parts, by their end tags. */
  readonly #inOrder: Flow<T>[] = [];
  readonly #byName = new Map<string, Flow<T>>();
  /** The start tags of parts that have nothing waiting and are ahead of the time. */
  readonly #ends = new Map<string, number>();
  /** The start tag of the item that was taken last, less the credit. */
  #time = 0;
  readonly #credit: number;

  constructor(name: string, whole: Flow<T> | undefined, credit: number, start = 0) {
    this.name = name;
    this.whole = whole;
    this.#credit = credit;
    this.#start = start;
  }

  open(name: string): Flow<T> {
    const start = Math.max(this.#time, this.#ends.get(name) ?? 0);
    const part = this.#byName.get(name) ?? new Flow(name, this, this.#credit, start);
    this.#ends.delete(name);
    this.#byName.set(name, part);
    return part;
  }

  /** @returns undefined where the part has nothing waiting. */
  part(name: string): Flow<T> | undefined {
    return this.#byName.get(name);
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

  /** Charges the flow, and each flow around it, for an item that was taken from it. */
  charge(price: number): void {
    const { whole } = this;
    if (whole === undefined) return;
    whole.#time = Math.max(whole.#time, this.#start - this.#credit);
    // A party that could not be served for a while has no turns to make up for.
    this.#start = Math.max(whole.#time, this.#start + price);
    whole.charge(price);
  }

  /** Puts it where it belongs among the parts of the whole, and takes it out once nothing waits. */
  place(): void {
    const { whole } = this;
    if (whole === undefined) return;
    const first = this.firstPrice;
    const end = first === undefined ? undefined : this.#start + first;
    if (end !== this.end) {
      const others = whole.#inOrder;
      if (this.end !== undefined) takeInOrder(others, this, endOf);
      this.end = end;
      if (end === undefined) whole.#close(this);
      else putInOrder(others, this, endOf);
    }
    whole.place();
  }

  /** The price of what is first: of two parties with the same past, the one that wants less is next. */
  get firstPrice(): number | undefined {
    const [first] = this.items;
    return first === undefined ? this.#inOrder[0]?.firstPrice : first.price;
  }

  /** Forgets a part that has nothing waiting any more. */
  #close(part: Flow<T>): void {
    this.#byName.delete(part.name);
    if (this.#inOrder.length === 0) {
      // Whoever comes next finds nobody to share with.
      this.#ends.clear();
      this.#time = 0;
    } else if (part.#start > this.#time) {
      this.#ends.set(part.name, part.#start);
      forgetOldest(this.#ends, MAX_ENDS);
    }
  }
}
