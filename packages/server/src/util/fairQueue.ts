import { forgetOldest } from "./forgetOldest.js";

/** An item that waits, and what its party is charged when it is taken. */
interface Priced<T> {
  readonly item: T;
  readonly price: number;
}

/** The ends of parties that have nothing waiting. There may be any number of addresses. */
const MAX_ENDS = 10_000;

/**
 * A queue in virtual time (start-time fair queueing). Whatever is taken moves its party ahead by its price, and the party that is
 * the least far ahead is next. So the parties get equal shares of what things cost, and a party with little to do is served before
 * a flood, however long that has waited. So are the parts of a party within its share.
 */
export class FairQueue<T, Part extends string = string> {
  readonly #parties = new Flows<Flows<Set<Priced<T>>>>();
  #size = 0;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns a function that takes the item out, if it still waits. */
  add(party: string, part: Part, item: T, price = 1): () => void {
    const parts = this.#parties.open(party, () => new Flows());
    const items = parts.content.open(part, () => new Set());
    const priced = { item, price };
    items.content.add(priced);
    this.#size++;
    return () => {
      if (items.content.delete(priced)) this.#onRemoved(parts, items);
    };
  }

  /**
   * Takes out the next item.
   * @param mayTake decides about the item whose turn it is in a part. If it may not be taken, the next part of the party
   *   has its turn, then the next party.
   */
  take(mayTake: (party: string, item: T, part: Part) => boolean = () => true): T | undefined {
    for (const parts of this.#parties.inOrder) {
      for (const items of parts.content.inOrder) {
        const [first] = items.content;
        if (first === undefined || !mayTake(parts.name, first.item, items.name as Part)) continue;
        items.content.delete(first);
        parts.content.charge(items, first.price);
        this.#parties.charge(parts, first.price);
        this.#onRemoved(parts, items);
        return first.item;
      }
    }
    return undefined;
  }

  #onRemoved(parts: Flow<Flows<Set<Priced<T>>>>, items: Flow<Set<Priced<T>>>): void {
    this.#size--;
    if (items.content.size > 0) return;
    parts.content.close(items);
    if (parts.content.inOrder.length === 0) this.#parties.close(parts);
  }
}

/** A party or a part that has something waiting, with its start tag. */
interface Flow<Content> {
  readonly name: string;
  readonly content: Content;
  start: number;
}

class Flows<Content> {
  /** By their start tags. */
  readonly inOrder: Flow<Content>[] = [];
  readonly #byName = new Map<string, Flow<Content>>();
  /** The start tags of flows that have nothing waiting and are ahead of the time. */
  readonly #ends = new Map<string, number>();
  /** The start tag of the item that was taken last. */
  #time = 0;

  open(name: string, create: () => Content): Flow<Content> {
    const known = this.#byName.get(name);
    if (known) return known;
    const flow = { name, content: create(), start: Math.max(this.#time, this.#ends.get(name) ?? 0) };
    this.#ends.delete(name);
    this.#byName.set(name, flow);
    this.#insert(flow);
    return flow;
  }

  /** Charges a flow of which something was taken. */
  charge(flow: Flow<Content>, price: number): void {
    this.#remove(flow);
    this.#time = Math.max(this.#time, flow.start);
    // A party that could not be served for a while has no turns to make up for.
    flow.start = this.#time + price;
    this.#insert(flow);
  }

  /** Takes out a flow that has nothing waiting any more. */
  close(flow: Flow<Content>): void {
    this.#remove(flow);
    this.#byName.delete(flow.name);
    if (this.inOrder.length === 0) {
      // Whoever comes next finds nobody to share with.
      this.#ends.clear();
      this.#time = 0;
    } else if (flow.start > this.#time) {
      this.#ends.set(flow.name, flow.start);
      forgetOldest(this.#ends, MAX_ENDS);
    }
  }

  #insert(flow: Flow<Content>): void {
    let at = this.inOrder.length;
    while (at > 0 && (this.inOrder[at - 1]?.start ?? 0) > flow.start) at--;
    this.inOrder.splice(at, 0, flow);
  }

  #remove(flow: Flow<Content>): void {
    this.inOrder.splice(this.inOrder.indexOf(flow), 1);
  }
}
