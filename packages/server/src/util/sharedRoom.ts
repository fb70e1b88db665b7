import { type Share, Tally } from "./tally.js";

/** Whoever takes room. */
export interface RoomOwner {
  /** The name of the share that is its own. */
  readonly party: string;
  /** The limits that it counts against, the narrowest first: there, room is made first. */
  readonly shares: readonly Share[];
}

/** Room that is held for one purpose. */
export interface Holding {
  readonly owner: RoomOwner;
  /** Ends what the room is held for, where others need it. */
  readonly cut: (() => void) | undefined;
  /** Whether nobody would miss it now. */
  readonly isIdle: () => boolean;
  amount: number;
}

/**
 * Room that parties share, each within its limits. Where one is full, whoever needs little takes the place of the party that holds most,
 * so that no number of parties shuts out another one.
 */
export class SharedRoom {
  readonly #held = new Tally();
  /** By party: there may be thousands of a few. */
  readonly #holdings = new Map<string, Set<Holding>>();

  heldOf(name: string): number {
    return this.#held.of(name);
  }

  /** Opens a holding of nothing. */
  open(owner: RoomOwner, cut?: () => void, isIdle = () => true): Holding {
    const holding = { owner, cut, isIdle, amount: 0 };
    const ofParty = this.#holdings.get(owner.party) ?? new Set();
    this.#holdings.set(owner.party, ofParty.add(holding));
    return holding;
  }

  /**
   * Takes more room, or gives some back, unless the holding is released already.
   * @returns the share that has none. Then the holding stays as large as before.
   */
  grow(holding: Holding, amount: number): Share | undefined {
    const { owner } = holding;
    if (!this.#holdings.get(owner.party)?.has(holding)) return undefined;
    const { shares } = owner;
    for (let full = this.#held.full(shares, amount); full; full = this.#held.full(shares, amount)) {
      const largest = this.#largestUnder(full, owner, amount);
      if (largest === undefined) return full;
      this.release(largest);
      largest.cut?.();
    }
    this.#held.addTo(shares, amount);
    holding.amount += amount;
    return undefined;
  }

  /** Frees a holding for good. May be called more than once. */
  release(holding: Holding): void {
    const { party, shares } = holding.owner;
    const ofParty = this.#holdings.get(party);
    if (!ofParty?.delete(holding)) return;
    if (ofParty.size === 0) this.#holdings.delete(party);
    this.#held.addTo(shares, -holding.amount);
  }

  /**
   * Finds what makes room under a share: of the party that holds most, if that is more than twice what the owner needs, the largest
   * holding, and of those of one size an idle one.
   */
  #largestUnder([name]: Share, { party }: RoomOwner, amount: number): Holding | undefined {
    // To refuse a party that has its own share costs nothing, however many others there are.
    if (name === party) return undefined;
    const makesRoom = ({ cut, amount: held, owner }: Holding) =>
      cut !== undefined && held > 0 && owner.shares.some((share) => share[0] === name);
    let most = 2 * (this.#held.of(party) + amount);
    let ofMost: Holding[] = [];
    for (const [other, holdings] of this.#holdings) {
      const held = this.#held.of(other);
      const found = held > most ? [...holdings].filter(makesRoom) : [];
      if (found.length > 0) [ofMost, most] = [found, held];
    }
    return ofMost.reduce<Holding | undefined>((best, one) => (isLarger(one, best) ? one : best), undefined);
  }
}

function isLarger(one: Holding, other: Holding | undefined): boolean {
  if (other === undefined || one.amount !== other.amount) return one.amount > (other?.amount ?? 0);
  return one.isIdle() && !other.isIdle();
}
