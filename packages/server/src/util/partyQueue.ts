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
      moveBehind(this.#parties, party, parts.size > 0);
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
    moveBehind(parts, part, items.length > 0);
    return item;
  }
  return undefined;
}

/** Puts an entry behind the others, or removes it. The only entry of a map stays where it is, which makes no garbage. */
function moveBehind<Key, Value>(map: Map<Key, Value>, key: Key, isKept: boolean): void {
  if (isKept && map.size === 1) return;
  const value = map.get(key);
  map.delete(key);
  if (isKept && value !== undefined) map.set(key, value);
}
