import { Ledger } from "../../util/ledger.js";
import { createRecentParties, type RecentParties } from "../../util/recentParties.js";

/** Begins one request. */
type Start = () => void;

const NOBODY: readonly [string, Set<Start>] = ["", new Set()];

/** Requests that begin in one turn of the event loop. To begin one, and to refuse it, takes some 0.1 ms. */
const REQUESTS_PER_TURN = 10;
/** The refused requests of a party that each second pays off. */
export const REFUSALS_PER_SECOND = 200;
/** A party whose debt reaches this many refused requests has to wait. */
export const FREE_REFUSALS = 400;
/** Each refusal is paid for, however many there are. */
const REFUSAL_TERMS = { burst: Number.POSITIVE_INFINITY, perSecond: REFUSALS_PER_SECOND };

/**
 * Decides which request begins next, so that a flood of one party delays nobody else. The parties take turns, and the
 * event loop turns between every few requests. A party that has been refused too often waits longer, because refusing
 * costs time as well.
 */
export class PartyTurns {
  /** The refused requests of each party: an API key, or an address without a valid key. */
  readonly #refused: Ledger;
  /** The waiting requests of each party. The one that is next comes first. */
  readonly #waiting = new Map<string, Set<Start>>();
  #startsLeft = REQUESTS_PER_TURN;
  #isTurnDue = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #recent: RecentParties;

  constructor(now: () => number = () => performance.now()) {
    this.#refused = new Ledger(now);
    this.#recent = createRecentParties(now);
  }

  /** Whether several parties have sent requests within the last second. */
  get areSeveralActive(): boolean {
    return this.#recent.isShared;
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, starts) => sum + starts.size, 0);
  }

  /**
   * Calls `start` when it is the party's turn: at once while few requests come and the party's debt is small.
   * @returns a function that takes the request out of the line, if it still waits.
   */
  enter(name: string, start: Start): () => void {
    this.#turnLater();
    this.#recent.note(name);
    if (this.#startsLeft > 0 && this.#waiting.size === 0 && !this.#owes(name)) {
      this.#startsLeft--;
      start();
      return () => {};
    }
    const starts = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, starts.add(start));
    return () => void starts.delete(start);
  }

  /** Counts a refused request of the party, or the share of one. */
  charge(name: string, share = 1): void {
    this.#refused.charge(name, share, REFUSAL_TERMS);
  }

  #owes(name: string): boolean {
    return this.#refused.debtOf(name, REFUSAL_TERMS) >= FREE_REFUSALS;
  }

  #turnLater(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(() => this.#turn());
  }

  /** Begins a few requests, one of each party after the other. */
  #turn(): void {
    this.#isTurnDue = false;
    this.#startsLeft = REQUESTS_PER_TURN;
    // Ends when no start is left, or when all waiting parties in a row are in debt.
    for (let skipped = 0; this.#startsLeft > 0 && skipped < this.#waiting.size; ) {
      const [[name, starts] = NOBODY] = this.#waiting;
      this.#waiting.delete(name);
      const [start] = starts;
      if (start === undefined) continue;
      if (this.#owes(name)) {
        this.#waiting.set(name, starts);
        skipped++;
        continue;
      }
      skipped = 0;
      starts.delete(start);
      if (starts.size > 0) this.#waiting.set(name, starts);
      this.#startsLeft--;
      start();
    }
    if (this.#waiting.size === 0) return;
    if (this.#startsLeft === 0) this.#turnLater();
    else this.#turnAfterPause();
  }

  /** Runs a turn after a pause, because all waiting parties are in debt. Their debts shrink with time. */
  #turnAfterPause(): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#turnLater();
      },
      Math.ceil((1_000 / REFUSALS_PER_SECOND) * REQUESTS_PER_TURN),
    ).unref();
  }
}
