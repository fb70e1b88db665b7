import { forgetOldest } from "./forgetOldest.js";

/** The most that a party may owe, and how much of it each second pays off. The unit is whatever the ledger counts. */
export interface Terms {
  readonly burst: number;
  readonly perSecond: number;
}

/** The parties that are remembered: the latest. There may be any number of addresses. */
const MAX_PARTIES = 10_000;

/**
 * Keeps the debts of parties: the amounts that they have used and that time has not paid off. It keeps debts rather than the rest of
 * a burst, so that changed terms apply at once.
 */
export class Ledger {
  readonly #now: () => number;
  /** The debt of each party as of `at`, in ms. The party that was charged last is the last. */
  readonly #debts = new Map<string, { readonly debt: number; readonly at: number }>();

  /** @param now a monotonic clock in ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The parties that are remembered. */
  get parties(): Iterable<string> {
    return this.#debts.keys();
  }

  debtOf(party: string, { perSecond }: Pick<Terms, "perSecond">): number {
    const known = this.#debts.get(party);
    if (known === undefined) return 0;
    return Math.max(0, known.debt - ((this.#now() - known.at) * perSecond) / 1_000);
  }

  /** Charges a party, which never owes more than the burst. A negative amount is given back. */
  charge(party: string, amount: number, terms: Terms): void {
    const debt = Math.min(terms.burst, this.debtOf(party, terms) + amount);
    this.#debts.delete(party);
    if (debt <= 0) return;
    this.#debts.set(party, { debt, at: this.#now() });
    forgetOldest(this.#debts, MAX_PARTIES);
  }

  /** Charges a party if it then owes no more than the burst. @returns whether it was charged. */
  tryCharge(party: string, amount: number, terms: Terms): boolean {
    if (this.debtOf(party, terms) + amount > terms.burst) return false;
    this.charge(party, amount, terms);
    return true;
  }
}
