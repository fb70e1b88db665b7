import { createRecentParties, type RecentParties } from "../../util/recentParties.js";

/** Begins one request. */
type Start = () => void;

/** A sender of requests: an API key, or an address without a valid key. */
interface Party {
  readonly waiting: Set<Start>;
  /** The number of refused requests, less those that time has paid off, as of `debtAt`. */
  debt: number;
  /** In ms. */
  debtAt: number;
}

/** Requests that begin in one turn of the event loop. To begin one, and to refuse it, takes some 0.1 ms. */
const REQUESTS_PER_TURN = 10;
/** The refused requests of a party that each second pays off. */
export const REFUSALS_PER_SECOND = 200;
/** A party whose debt reaches this many refused requests has to wait. */
export const FREE_REFUSALS = 400;
/** Parties that are remembered for their debts, besides those that wait. */
const MAX_IDLE_PARTIES = 10_000;

/**
 * Decides which request begins next, so that a flood of one party delays nobody else. The parties take turns, and the
 * event loop turns between every few requests. A party that has been refused too often waits longer, because refusing
 * costs time as well.
 */
export class PartyTurns {
  readonly #parties = new Map<string, Party>();
  /** The parties with waiting requests. The one that is next comes first. */
  readonly #waiting = new Set<string>();
  readonly #now: () => number;
  #startsLeft = REQUESTS_PER_TURN;
  #maxParties = MAX_IDLE_PARTIES;
  #isTurnDue = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #recent: RecentParties;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#recent = createRecentParties(now);
  }

  /** Whether several parties have sent requests within the last second. */
  get areSeveralActive(): boolean {
    return this.#recent.isShared;
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return [...this.#waiting].reduce((sum, name) => sum + (this.#parties.get(name)?.waiting.size ?? 0), 0);
  }

  /**
   * Calls `start` when it is the party's turn: at once while few requests come and the party's debt is small.
   * @returns a function that takes the request out of the line, if it still waits.
   */
  enter(name: string, start: Start): () => void {
    this.#turnLater();
    this.#recent.note(name);
    const party = this.#parties.get(name);
    if (this.#startsLeft > 0 && this.#waiting.size === 0 && !(party && this.#owes(party))) {
      this.#startsLeft--;
      start();
      return () => {};
    }
    const known = party ?? this.#add(name);
    known.waiting.add(start);
    this.#waiting.add(name);
    return () => void known.waiting.delete(start);
  }

  /** Counts a refused request of the party, or the share of one. */
  charge(name: string, share = 1): void {
    const party = this.#parties.get(name) ?? this.#add(name);
    party.debt = this.#debtOf(party) + share;
    party.debtAt = this.#now();
  }

  #add(name: string): Party {
    if (this.#parties.size >= this.#maxParties) this.#forgetIdle();
    const party: Party = { waiting: new Set(), debt: 0, debtAt: this.#now() };
    this.#parties.set(name, party);
    return party;
  }

  /** Forgets all parties that do not wait, with their debts. A flood may come from any number of addresses. */
  #forgetIdle(): void {
    for (const [name, { waiting }] of this.#parties) if (waiting.size === 0) this.#parties.delete(name);
    this.#maxParties = this.#parties.size + MAX_IDLE_PARTIES;
  }

  #debtOf({ debt, debtAt }: Party): number {
    return Math.max(0, debt - ((this.#now() - debtAt) * REFUSALS_PER_SECOND) / 1_000);
  }

  #owes(party: Party): boolean {
    return this.#debtOf(party) >= FREE_REFUSALS;
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
      const [name = ""] = this.#waiting;
      const party = this.#parties.get(name);
      this.#waiting.delete(name);
      if (party === undefined || party.waiting.size === 0) continue;
      if (this.#owes(party)) {
        this.#waiting.add(name);
        skipped++;
        continue;
      }
      skipped = 0;
      const [start = () => {}] = party.waiting;
      party.waiting.delete(start);
      if (party.waiting.size > 0) this.#waiting.add(name);
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
