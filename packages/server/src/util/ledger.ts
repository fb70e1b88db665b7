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
  parts: Ledger | undefined;
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

  /**
   * Counts the parties that owe something: at least one, and some that were charged after one of them and have paid since. Forgets others.
   * @param rateOf returns what each second pays off for each of so many parties.
   */
  owing(rateOf: (parties: number) => number): number {
    for (const party of this.#accounts.keys()) {
      if (this.debtOf(party, { ratePerSecond: rateOf(this.#accounts.size) }) > 0) break;
      this.#accounts.delete(party);
    }
    return Math.max(1, this.#accounts.size);
  }

  /** The debts of a party's parts, such as the addresses under a key. They are forgotten with the party's own debt. */
  partsOf(party: string): Ledger {
    const known = this.#accounts.get(party);
    const account = known ?? { debt: 0, at: this.#now(), parts: undefined };
    if (known === undefined) this.#remember(party, account);
    account.parts ??= new Ledger(this.#now);
    return account.parts;
  }

  debtOf(party: string, { ratePerSecond }: Pick<Terms, "ratePerSecond">): number {
    const known = this.#accounts.get(party);
    if (known === undefined) return 0;
    return Math.max(0, known.debt - ((this.#now() - known.at) * ratePerSecond) / 1_000);
  }

  /** Charges a party, which never owes more than the burst. A negative amount is given back. */
  charge(party: string, amount: number, terms: Terms): void {
    const at = this.#now();
    const debt = Math.max(0, Math.min(terms.rateBurst, this.debtOf(party, terms) + amount));
    const parts = this.#accounts.get(party)?.parts;
    this.#remember(party, { debt, at, parts });
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

  #remember(party: string, account: Account): void {
    this.#accounts.delete(party);
    this.#accounts.set(party, account);
    forgetOldest(this.#accounts, MAX_PARTIES);
  }
}
