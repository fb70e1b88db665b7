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
  readonly parts: Parts | undefined;
}

/** The parties that are remembered: the latest. There may be any number of addresses. */
const MAX_PARTIES = 10_000;
/** Parts pay at this interval, in ms, because each time visits all of them. */
const PARTS_PAY_MS = 5;
/** Fractions do not add up exactly. */
const ROUNDING = 1e-6;

/**
 * Keeps the debts of parties: the amounts that they have used and that time has not paid off. It keeps debts rather than the rest of
 * a burst, so that changed terms apply at once. A debt may be told apart by the parts of its party, such as the addresses under a key.
 */
export class Ledger {
  readonly #now: () => number;
  /** The party that was charged last is the last. */
  readonly #accounts = new Map<string, Account>();

  /** @param now a monotonic clock in ms. */
  constructor(now: () => number) {
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

  /** The part's share of the party's debt. */
  debtOfPart(party: string, part: string, terms: Pick<Terms, "ratePerSecond">): number {
    const parts = this.#accounts.get(party)?.parts;
    parts?.pay(terms, this.#now());
    return parts?.debts.get(part) ?? 0;
  }

  /** Charges a party, which never owes more than the burst. A negative amount is given back. */
  charge(party: string, amount: number, terms: Terms, part?: string): void {
    const at = this.#now();
    const known = this.#accounts.get(party)?.parts;
    const parts = part === undefined ? known : (known ?? new Parts(at));
    if (part !== undefined) parts?.charge(part, amount, terms, at);
    const debt = Math.min(terms.rateBurst, this.debtOf(party, terms) + amount);
    this.#accounts.delete(party);
    if (debt <= 0) return;
    this.#accounts.set(party, { debt, at, parts });
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

/** The debts of a party's parts. All that owe something pay off the same amount, and what a part does not owe pays for the others. */
class Parts {
  readonly debts = new Map<string, number>();
  #at: number;

  constructor(at: number) {
    this.#at = at;
  }

  charge(part: string, amount: number, terms: Terms, now: number): void {
    this.pay(terms, now);
    this.debts.set(part, Math.max(0, (this.debts.get(part) ?? 0) + amount));
  }

  pay({ ratePerSecond }: Pick<Terms, "ratePerSecond">, now: number): void {
    if (now - this.#at < PARTS_PAY_MS) return;
    let paid = ((now - this.#at) * ratePerSecond) / 1_000;
    this.#at = now;
    while (paid > ROUNDING && this.debts.size > 0) {
      const each = paid / this.debts.size;
      paid = 0;
      for (const [part, debt] of this.debts) {
        if (debt > each + ROUNDING) {
          this.debts.set(part, debt - each);
          continue;
        }
        this.debts.delete(part);
        paid += Math.max(0, each - debt);
      }
    }
  }
}
