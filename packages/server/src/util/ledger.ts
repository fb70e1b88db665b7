import { forgetOldest } from "./forgetOldest.js";

/** The most that a party may owe, and how much of it each second pays off. The unit is whatever the ledger counts. */
export interface Terms {
  readonly rateBurst: number;
  readonly ratePerSecond: number;
}

/** The debt of one party. */
interface Account {
  readonly debt: number;
  /** The time up to which the debt is paid off, in ms. */
  readonly at: number;
}

/** The parties that are remembered: the latest. There may be any number of addresses. */
const MAX_PARTIES = 10_000;
/** Fractions do not add up exactly. */
const ROUNDING = 1e-6;

/**
 * Keeps the debts of parties: the amounts that they have used and that time has not paid off. It keeps debts rather than the rest of
 * a burst, so that changed terms apply at once.
 */
export class Ledger {
  readonly #now: () => number;
  /** The party that was charged last is the last. */
  readonly #accounts = new Map<string, Account>();

  /** @param now a monotonic clock in ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The parties that are remembered. */
  get parties(): Iterable<string> {
    return this.#accounts.keys();
  }

  debtOf(party: string, { ratePerSecond }: Pick<Terms, "ratePerSecond">): number {
    const known = this.#accounts.get(party);
    if (known === undefined) return 0;
    return Math.max(0, known.debt - ((this.#now() - known.at) * ratePerSecond) / 1_000);
  }

  /** Charges a party, which never owes more than the burst. A negative amount is given back. */
  charge(party: string, amount: number, terms: Terms): void {
    const at = this.#now();
    const debt = Math.min(terms.rateBurst, this.debtOf(party, terms) + amount);
    this.#accounts.delete(party);
    if (debt <= 0) return;
    this.#accounts.set(party, { debt, at });
    forgetOldest(this.#accounts, MAX_PARTIES);
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
}
