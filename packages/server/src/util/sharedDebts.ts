import { forgetOldest } from "./forgetOldest.js";
import { putInOrder, takeInOrder } from "./inOrder.js";

/** Gives the sum that each second pays off for each of so many parties. */
export type ShareOf = (parties: number) => number;

interface Debt {
  readonly party: string;
  /** The sum at which it ends. */
  readonly end: number;
}

const endOf = ({ end }: Debt) => end;

/**
 * The debts of parties that share what time pays off: all that owe something pay off the same amount. So the debt of a party ends
 * when one that owes something all the time has paid off a certain sum, and time changes nothing of the debts behind the first end.
 * A party may have parts, such as the addresses under a key, with debts of their own.
 */
export class SharedDebts {
  readonly #now: () => number;
  /** The sum that a party has paid off by now which has owed something all the time. */
  #paid = 0;
  #paidAt: number;
  readonly #debts = new Map<string, Debt>();
  /** Those whose ends come first are the first. */
  readonly #inOrder: Debt[] = [];
  /** The debts of the parts of parties. The party that was asked about last is the last. */
  readonly #parts = new Map<string, SharedDebts>();

  /** @param now a monotonic clock in ms. */
  constructor(now: () => number) {
    this.#now = now;
    this.#paidAt = now();
  }

  /** Pays off what is due now. @returns the number of parties that owe something: at least one. */
  pay(shareOf: ShareOf): number {
    const now = this.#now();
    let seconds = (now - this.#paidAt) / 1_000;
    this.#paidAt = now;
    for (let [first] = this.#inOrder; first; [first] = this.#inOrder) {
      const share = shareOf(this.#inOrder.length);
      const needed = (first.end - this.#paid) / share;
      if (needed > seconds) {
        this.#paid += seconds * share;
        break;
      }
      seconds -= needed;
      this.#paid = first.end;
      this.#inOrder.shift();
      this.#debts.delete(first.party);
    }
    return Math.max(1, this.#inOrder.length);
  }

  /**
   * The debts of a party's parts. They may last longer than its own.
   * @param shareOf is that of the parts of each party.
   */
  partsOf(party: string, shareOf: ShareOf): SharedDebts {
    const debts = this.#parts.get(party) ?? new SharedDebts(this.#now);
    this.#parts.delete(party);
    for (const [other, parts] of this.#parts) {
      parts.pay(shareOf);
      if (parts.#inOrder.length > 0) break;
      this.#parts.delete(other);
    }
    this.#parts.set(party, debts);
    forgetOldest(this.#parts);
    return debts;
  }

  /** @returns the debt of the time when debts were paid last. */
  debtOf(party: string): number {
    return (this.#debts.get(party)?.end ?? this.#paid) - this.#paid;
  }

  /** Charges a party, which never owes more than `most`. A negative amount is given back. */
  charge(party: string, amount: number, most: number): void {
    const owed = Math.min(most, this.debtOf(party) + amount);
    const known = this.#debts.get(party);
    if (known) takeInOrder(this.#inOrder, known, endOf);
    this.#debts.delete(party);
    if (owed <= 0) return;
    const debt = { party, end: this.#paid + owed };
    this.#debts.set(party, debt);
    putInOrder(this.#inOrder, debt, endOf);
  }
}
