import { forgetOldest } from "./forgetOldest.js";
import { putInOrder, takeInOrder } from "./inOrder.js";

/** The most that a party may owe, and how much of it each second of the ledger pays off. The unit is whatever the ledger counts. */
export interface Terms {
  readonly rateBurst: number;
  readonly ratePerSecond: number;
}

/** Gives what each second pays off for each of so many parties. */
export type ShareOf = (parties: number) => number;

interface Debt {
  readonly party: string;
  readonly ratePerSecond: number;
  /** The time of the ledger at which it ends. */
  readonly end: number;
}

const endOf = ({ end }: Debt) => end;

/** The parties that are remembered: those that were charged last, so that nobody escapes behind thousands that owe for longer. */
const MAX_PARTIES = 10_000;
/** Fractions do not add up exactly. */
const ROUNDING = 1e-6;
const BY_TIME: ShareOf = () => 1;
const UNIT = { ratePerSecond: 1 };

/**
 * Keeps the debts of parties: the amounts that they have used and that time has not paid off. All parties pay off the same, which may
 * be a share of something, so that a debt ends when one that owes something all the time has paid off a certain sum: the time of the
 * ledger. A party may have parts, such as the addresses under a key, with debts of their own.
 */
export class Ledger {
  readonly #now: () => number;
  #shareOf: ShareOf;
  /** The sum that a party has paid off by now which has owed something all the time. */
  #time = 0;
  #paidAt: number;
  /** The party that was charged last is the last. */
  readonly #debts = new Map<string, Debt>();
  /** Those whose ends come first are the first. Debts that time alone pays off need no order, which costs 30 µs among ten thousand. */
  readonly #inOrder: Debt[] = [];
  /** The debts of the parts of parties. The party that was asked about last is the last. */
  readonly #parts = new Map<string, Ledger>();

  /**
   * @param now a monotonic clock in ms.
   * @param shareOf what a second pays off; by default one, so that the time of the ledger is in seconds.
   */
  constructor(now: () => number = () => performance.now(), shareOf = BY_TIME) {
    this.#now = now;
    this.#shareOf = shareOf;
    this.#paidAt = now();
  }

  /** The parties that are remembered. */
  get parties(): Iterable<string> {
    return this.#debts.keys();
  }

  /** The sum that a second pays off for each party now. */
  get share(): number {
    this.#pay();
    return this.#shareOf(Math.max(1, this.#inOrder.length));
  }

  debtOf(party: string, { ratePerSecond }: Pick<Terms, "ratePerSecond"> = UNIT): number {
    this.#pay();
    const debt = this.#debts.get(party);
    if (debt === undefined) return 0;
    const owed = Math.max(0, debt.end - this.#time) * debt.ratePerSecond;
    // Changed terms apply at once.
    if (debt.ratePerSecond !== ratePerSecond) this.#put(party, owed, ratePerSecond);
    return owed;
  }

  /** Charges a party, which never owes more than the burst. A negative amount is given back. */
  charge(party: string, amount: number, terms: Terms): void {
    const owed = Math.min(terms.rateBurst, this.debtOf(party, terms) + amount);
    this.#put(party, owed, terms.ratePerSecond);
  }

  /**
   * Charges a party if it then owes no more than the burst.
   * @returns 0 if it was charged, else the time in ms until it may be.
   */
  take(party: string, amount: number, terms: Terms): number {
    const excess = this.debtOf(party, terms) + amount - terms.rateBurst;
    if (excess > ROUNDING) return (excess * 1_000) / terms.ratePerSecond;
    this.charge(party, amount, terms);
    return 0;
  }

  /**
   * The debts of a party's parts. They may last longer than its own.
   * @param shareOf is that of the parts of each party.
   */
  partsOf(party: string, shareOf: ShareOf): Ledger {
    const ledger = this.#parts.get(party) ?? new Ledger(this.#now);
    this.#parts.delete(party);
    for (const [other, parts] of this.#parts) {
      parts.#shareOf = shareOf;
      parts.#pay();
      if (parts.#inOrder.length > 0) break;
      this.#parts.delete(other);
    }
    this.#parts.set(party, ledger);
    forgetOldest(this.#parts);
    ledger.#shareOf = shareOf;
    return ledger;
  }

  /** Pays off what is due now: time changes nothing of the debts behind the first end. */
  #pay(): void {
    const now = this.#now();
    let seconds = (now - this.#paidAt) / 1_000;
    this.#paidAt = now;
    if (this.#shareOf === BY_TIME) this.#time += seconds;
    for (let [first] = this.#inOrder; first; [first] = this.#inOrder) {
      const share = this.#shareOf(this.#inOrder.length);
      const needed = (first.end - this.#time) / share;
      if (needed > seconds) {
        this.#time += seconds * share;
        break;
      }
      seconds -= needed;
      this.#time = first.end;
      this.#inOrder.shift();
      this.#debts.delete(first.party);
    }
  }

  #put(party: string, owed: number, ratePerSecond: number): void {
    this.#forget(this.#debts.get(party));
    if (owed <= 0) return;
    const debt = { party, ratePerSecond, end: this.#time + owed / ratePerSecond };
    this.#debts.set(party, debt);
    if (this.#shareOf !== BY_TIME) putInOrder(this.#inOrder, debt, endOf);
    if (this.#debts.size <= MAX_PARTIES) return;
    const [oldest] = this.#debts.values();
    this.#forget(oldest);
  }

  #forget(debt: Debt | undefined): void {
    if (debt === undefined) return;
    if (this.#shareOf !== BY_TIME) takeInOrder(this.#inOrder, debt, endOf);
    this.#debts.delete(debt.party);
  }
}
