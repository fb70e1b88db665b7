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
  readonly party?: string;
  readonly part?: string;
  /** Pieces of work of the part that may wait, where it must leave room to others of the party. */
  readonly waitingOfPart?: number;
}

/** Work that happens elsewhere, at a node or in the database, in a number of places: the parties take turns. */
export class WorkQueue {
  readonly #bounds: WorkBounds;
  readonly #queue = new FairQueue<{ readonly party: string; readonly start: () => void }>();
  readonly #running = new Tally();
  readonly #waiting = new Tally();
  #places = 0;

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
    const { party = "" } = owner;
    if (this.#mayRun(party)) this.#enter(party);
    else await this.#wait(party, owner);
    try {
      return await work();
    } finally {
      this.#places--;
      this.#running.add(party, -1);
      // Synchronously, so that no later work gets in between.
      this.#startNext();
    }
  }

  #mayRun(party: string): boolean {
    const { places = Number.POSITIVE_INFINITY, placesOfParty = places } = this.#bounds;
    return this.#places < places && this.#running.of(party) < placesOfParty;
  }

  #enter(party: string): void {
    this.#places++;
    this.#running.add(party, 1);
  }

  #wait(party: string, { part = "", waitingOfPart }: WorkOwner): Promise<void> {
    const {
      waiting = Number.POSITIVE_INFINITY,
      waitingOfParty = waiting,
      refusal = (why: string) => new Error(why),
    } = this.#bounds;
    const shares: readonly Share[] = [
      [party, waitingOfParty, ""],
      [`${party} ${part}`, waitingOfPart ?? waiting, ""],
    ];
    if (this.#waiting.full(shares, 1) !== undefined)
      throw refusal(`${this.#waiting.of(party)} of the same party wait already`);
    if (this.#queue.size >= waiting) throw refusal(`${this.#queue.size} wait already`);
    this.#waiting.addTo(shares, 1);
    return new Promise((resolve) =>
      this.#queue.add([party, part], {
        party,
        start: () => {
          this.#waiting.addTo(shares, -1);
          this.#enter(party);
          resolve();
        },
      }),
    );
  }

  #startNext(): void {
    this.#queue.take(({ party }) => this.#mayRun(party))?.start();
  }
}
