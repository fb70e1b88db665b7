/**
 * A queue in which the parties take turns: one item of each, then the next of each. So do the parts of a party, within its
 * turns.
 */
export class PartyQueue<T, Part extends string = string> {
  /** The waiting items, by party and part. The party that is next comes first, and so does the part of a party. */
  readonly #parties = new Map<string, Map<Part, T[]>>();

  get isEmpty(): boolean {
    return this.#parties.size === 0;
  }

  add(party: string, part: Part, item: T): void {
    const parts = this.#parties.get(party) ?? new Map<Part, T[]>();
    this.#parties.set(party, parts);
    const items = parts.get(part);
    if (items) items.push(item);
    else parts.set(part, [item]);
  }

  /**
   * Takes out the next item.
   * @param mayTake decides about the item whose turn it is in a part. If it may not be taken, the next part of the party
   *   has its turn, then the next party.
   */
  take(mayTake: (party: string, item: T, part: Part) => boolean = () => true): T | undefined {
    for (const [party, parts] of this.#parties) {
      const item = takeOfParts(parts, (item, part) => mayTake(party, item, part));
      if (item === undefined) continue;
      this.#parties.delete(party);
      if (parts.size > 0) this.#parties.set(party, parts);
      return item;
    }
    return undefined;
  }
}

/** Takes the next item of a party out, and puts its part behind the others. */
function takeOfParts<T, Part>(
  parts: Map<Part, T[]>,
  mayTake: (item: T, part: Part) => boolean,
): T | undefined {
  for (const [part, items] of parts) {
    const [item] = items;
    if (item === undefined || !mayTake(item, part)) continue;
    items.shift();
    parts.delete(part);
    if (items.length > 0) parts.set(part, items);
    return item;
  }
  return undefined;
}
