/**
 * A queue in which the parties take turns: one item of each, then the next of each. So do the parts of a party, within its
 * turns.
 */
export class PartyQueue<T> {
  /** The waiting items, by party and part. The party that is next comes first, and so does the part of a party. */
  readonly #parties = new Map<string, Map<string, T[]>>();

  get isEmpty(): boolean {
    return this.#parties.size === 0;
  }

  add(party: string, part: string, item: T): void {
    const parts = this.#parties.get(party) ?? new Map<string, T[]>();
    this.#parties.set(party, parts);
    const items = parts.get(part);
    if (items) items.push(item);
    else parts.set(part, [item]);
  }

  /**
   * Takes out the next item.
   * @param mayTake decides about the item whose turn it is in its party. If it may not be taken, the next party has its turn.
   */
  take(mayTake: (party: string, item: T) => boolean = () => true): T | undefined {
    for (const [party, parts] of this.#parties) {
      const item = nextOf(parts);
      if (item === undefined || !mayTake(party, item)) continue;
      shift(parts);
      this.#parties.delete(party);
      if (parts.size > 0) this.#parties.set(party, parts);
      return item;
    }
    return undefined;
  }
}

function nextOf<T>(parts: ReadonlyMap<string, readonly T[]>): T | undefined {
  for (const [first] of parts.values()) return first;
  return undefined;
}

/** Takes the next item of a party out, and puts its part behind the others. */
function shift<T>(parts: Map<string, T[]>): void {
  for (const [part, items] of parts) {
    items.shift();
    parts.delete(part);
    if (items.length > 0) parts.set(part, items);
    return;
  }
}
