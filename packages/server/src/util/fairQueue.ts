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
  readonly #parties = new Line<Line<Set<Priced<T>>>>();
  #size = 0;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns a function that takes the item out, if it still waits. */
  add(party: string, part: Part, item: T, price = 1): () => void {
    const items = this.#parties.flow(party, newLine<T>).flow(part, newSet<T>);
    const priced = { item, price };
    items.add(priced);
    this.#size++;
    return () => {
      if (items.delete(priced)) this.#size--;
    };
  }

  /**
   * Takes out the next item.
   * @param mayTake decides about the item whose turn it is in a part. If it may not be taken, the next part of the party
   *   has its turn, then the next party.
   */
  take(mayTake: (party: string, item: T, part: Part) => boolean = () => true): T | undefined {
    const taken = this.#parties.take((parts, party) =>
      parts.take((items, part) => {
        const [first] = items;
        if (first === undefined) return "empty";
        if (!mayTake(party, first.item, part as Part)) return undefined;
        items.delete(first);
        return { ...first, isLast: items.size === 0 };
      }),
    );
    if (taken === undefined || taken === "empty") return undefined;
    this.#size--;
    return taken.item;
  }
}

/** A party or a part that has something waiting, with its start tag. */
interface Flow<Content> {
  readonly name: string;
  readonly content: Content;
  start: number;
}

type Taken<T> = (Priced<T> & { readonly isLast: boolean }) | "empty" | undefined;

/** Flows in the order of their start tags. */
class Line<Content> {
  readonly #order: Flow<Content>[] = [];
  readonly #byName = new Map<string, Flow<Content>>();
  /** The start tags of flows that have nothing waiting and are ahead of the time. */
  readonly #ends = new Map<string, number>();
  /** The start tag of the item that was taken last. */
  #time = 0;

  flow(name: string, create: () => Content): Content {
    const known = this.#byName.get(name);
    if (known) return known.content;
    const flow = { name, content: create(), start: Math.max(this.#time, this.#ends.get(name) ?? 0) };
    this.#ends.delete(name);
    this.#byName.set(name, flow);
    this.#insert(flow);
    return flow.content;
  }

  /** Takes of the first flow of which something may be taken. Flows that have become empty leave. */
  take<T>(takeOf: (content: Content, name: string) => Taken<T>): Taken<T> {
    for (let i = 0; i < this.#order.length; ) {
      const flow = this.#order[i] as Flow<Content>;
      const taken = takeOf(flow.content, flow.name);
      if (taken === undefined) {
        i++;
        continue;
      }
      this.#order.splice(i, 1);
      if (taken === "empty") {
        this.#leave(flow);
        continue;
      }
      this.#time = Math.max(this.#time, flow.start);
      // A party that could not be served for a while has no turns to make up for.
      flow.start = this.#time + taken.price;
      if (taken.isLast) this.#leave(flow);
      else this.#insert(flow);
      return { ...taken, isLast: this.#order.length === 0 };
    }
    return this.#order.length === 0 ? "empty" : undefined;
  }

  #insert(flow: Flow<Content>): void {
    let at = this.#order.length;
    while (at > 0 && (this.#order[at - 1]?.start ?? 0) > flow.start) at--;
    this.#order.splice(at, 0, flow);
  }

  #leave({ name, start }: Flow<Content>): void {
    this.#byName.delete(name);
    if (this.#order.length === 0) {
      // Whoever comes next finds nobody to share with.
      this.#ends.clear();
      this.#time = 0;
      return;
    }
    if (start <= this.#time) return;
    this.#ends.set(name, start);
    forgetOldest(this.#ends, MAX_ENDS);
  }
}

function newLine<T>() {
  return new Line<Set<Priced<T>>>();
}

function newSet<T>() {
  return new Set<Priced<T>>();
}
