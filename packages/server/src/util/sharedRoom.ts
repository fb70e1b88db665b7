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
  amount: number;
}

/**
 * Room that parties share, each within its limits. Where one is full, whoever needs little takes the place of the party that holds most,
 * so that no number of parties shuts out another one.
 */
export class SharedRoom {
  readonly #held = new Tally();
  readonly #holdings = new Set<Holding>();

  heldOf(name: string): number {
    return this.#held.of(name);
  }

  /** Opens a holding of nothing. */
  open(owner: RoomOwner, cut?: () => void): Holding {
    const holding = { owner, cut, amount: 0 };
    this.#holdings.add(holding);
    return holding;
  }

  /** Finds the first share that is full, and in which nobody has to make room for so much. */
  full(owner: RoomOwner, amount: number): Share | undefined {
    return owner.shares.find(
      (share) =>
        this.#held.full([share], amount) !== undefined &&
        this.#largestUnder(share, owner, amount) === undefined,
    );
  }

  /**
   * Takes more room, unless the holding is released already.
   * @returns the share that has none. Then the holding stays as large as before.
   */
  grow(holding: Holding, amount: number): Share | undefined {
    if (!this.#holdings.has(holding)) return undefined;
    const { owner } = holding;
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
    if (this.#holdings.delete(holding)) this.#held.addTo(holding.owner.shares, -holding.amount);
  }

  /** Finds the largest holding of the party that holds most under a share, if that is more than twice what the owner needs. */
  #largestUnder([name]: Share, { party }: RoomOwner, amount: number): Holding | undefined {
    // To refuse a party that has its own share costs nothing, however many others there are.
    if (name === party) return undefined;
    const heldBy = ({ owner }: Holding) => this.#held.of(owner.party);
    let largest: Holding | undefined;
    for (const one of this.#holdings) {
      if (one.cut === undefined || one.amount === 0) continue;
      if (!one.owner.shares.some((share) => share[0] === name)) continue;
      const isMore = largest === undefined || heldBy(one) > heldBy(largest);
      if (isMore || (one.owner.party === largest?.owner.party && one.amount > largest.amount)) largest = one;
    }
    return largest && heldBy(largest) > 2 * (this.#held.of(party) + amount) ? largest : undefined;
  }
}
