import { FairQueue } from "./fairQueue.js";
import { type Share, Tally } from "./tally.js";

/** The bounds of the work that runs or waits. Without a number there is no bound. */
export interface WorkBounds {
  /** Pieces of work that run at the same time: of all, and of one party. */
  readonly places?: number;
  readonly placesOfParty?: number;
  /** Pieces of work that wait: of all, and of one party. */
  readonly waiting?: number;
  readonly waitingOfParty?: number;
  /** The error for work that finds no room to wait. @param why such as "8 wait already". */
  readonly refusal?: (why: string) => Error;
}

/** The owner of work: a party, and a part of it, such as an address under a key. */
export interface WorkOwner {
  /** The wholes that the party is of, the widest first. None has more places, or waits with more, than it leaves to others. */
  readonly within?: readonly string[];
  readonly party?: string;
  readonly part?: string;
  /** Pieces of work of the part that may wait, where it must leave room to others of the party. */
  readonly waitingOfPart?: number;
}

const ALL = "all";
const NO_BOUND = Number.POSITIVE_INFINITY;

/** Work that happens elsewhere, at a node or in the database, in a number of places: the parties take turns. */
export class WorkQueue {
  readonly #bounds: WorkBounds;
  readonly #queue = new FairQueue<{ readonly owner: WorkOwner; readonly start: () => void }>();
  readonly #running = new Tally();
  readonly #waiting = new Tally();

  constructor(bounds: WorkBounds) {
    this.#bounds = bounds;
  }

  /** The pieces of work that wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Runs work when there is a place for it.
   * @throws the bounds' refusal at once, if there is no room to wait.
   */
  async run<T>(work: () => Promise<T>, owner: WorkOwner = {}): Promise<T> {
    const places = this.#placesOf(owner);
    if (this.#running.full(places, 1)) await this.#wait(owner);
    else this.#running.addTo(places, 1);
    try {
      return await work();
    } finally {
      this.#running.addTo(places, -1);
      // Synchronously, so that no later work gets in between.
      while (this.#startNext());
    }
  }

  /** @returns whether anything that waits has got a place. */
  #startNext(): boolean {
    // Thousands may wait for the places of one whole.
    const full = new Set<string>();
    const next = this.#queue.take(({ owner }) => {
      if (full.has(ALL) || owner.within?.some((whole) => full.has(whole))) return false;
      const share = this.#running.full(this.#placesOf(owner), 1);
      if (share !== undefined) full.add(share[0]);
      return share === undefined;
    });
    next?.start();
    return next !== undefined;
  }

  /** A party that shares the places has no more of them than are free, so that a newcomer need not wait for the long work of a few. */
  #placesOf({ within, party = "" }: WorkOwner): Share[] {
    const { places = NO_BOUND, placesOfParty = places } = this.#bounds;
    const { shares, free } = sharesOf(this.#running, places, within);
    const limit = placesOfParty < places ? Math.min(placesOfParty, free) : places;
    return [...shares, [`party ${party}`, limit, ""]];
  }

  #wait(owner: WorkOwner): Promise<void> {
    const { within = [], party = "", part = "", waitingOfPart = NO_BOUND } = owner;
    const { waiting = NO_BOUND, waitingOfParty = waiting, refusal = (why) => new Error(why) } = this.#bounds;
    const shares: readonly Share[] = [
      [`party ${party}`, waitingOfParty, " of the same party"],
      [`part ${party} ${part}`, waitingOfPart, " of the same party"],
      ...sharesOf(this.#waiting, waiting, within).shares,
    ];
    const full = this.#waiting.full(shares, 1);
    if (full !== undefined) throw refusal(`${this.#waiting.of(full[0])}${full[2]} wait already`);
    this.#waiting.addTo(shares, 1);
    return new Promise((resolve) =>
      this.#queue.add([...within, party, part], {
        owner,
        start: () => {
          this.#waiting.addTo(shares, -1);
          this.#running.addTo(this.#placesOf(owner), 1);
          resolve();
        },
      }),
    );
  }
}

/** Returns the shares of all and of each whole, which leaves as much of what is free as it has, and what is free then. */
function sharesOf(taken: Tally, room: number, within: readonly string[] = []) {
  const shares: Share[] = [[ALL, room, ""]];
  let free = room - taken.of(ALL);
  for (const whole of within) {
    shares.push([whole, free, " of the same party"]);
    free -= taken.of(whole);
  }
  return { shares, free };
}
