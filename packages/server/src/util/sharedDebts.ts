import { forgetOldest } from "./forgetOldest.js";

/** Gives the sum that each second pays off for each of so many parties. */
export type ShareOf = (parties: number) => number;

/** The sum at which a debt ends, or ended before its party was charged for more. */
interface End {
  readonly party: string;
  readonly sum: number;
}

interface Account {
  /** The sum at which the debt ends now. */
  readonly end: number;
  /** Its entry among the ends. Other entries of the party are void. */
  readonly entry: End;
}

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
  /** The parties that owe something. */
  readonly #accounts = new Map<string, Account>();
  /** A heap by their sums: the first is the least. */
  readonly #ends: End[] = [];
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
    for (let [first] = this.#ends; first; [first] = this.#ends) {
      const { party } = first;
      const account = this.#accounts.get(party);
      if (account?.entry !== first) {
        this.#removeFirst();
        continue;
      }
      const { end } = account;
      if (end > first.sum) {
        this.#removeFirst();
        this.#accounts.set(party, { end, entry: this.#insert(party, end) });
        continue;
      }
      const share = shareOf(this.#accounts.size);
      const needed = (end - this.#paid) / share;
      if (needed > seconds) {
        this.#paid += seconds * share;
        break;
      }
      seconds -= needed;
      this.#paid = end;
      this.#removeFirst();
      this.#accounts.delete(party);
    }
    return Math.max(1, this.#accounts.size);
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
      if (parts.#accounts.size > 0) break;
      this.#parts.delete(other);
    }
    this.#parts.set(party, debts);
    forgetOldest(this.#parts);
    return debts;
  }

  /** @returns the debt of the time when debts were paid last. */
  debtOf(party: string): number {
    return (this.#accounts.get(party)?.end ?? this.#paid) - this.#paid;
  }

  /** Charges a party, which never owes more than `most`. A negative amount is given back. */
  charge(party: string, amount: number, most: number): void {
    const debt = Math.min(most, this.debtOf(party) + amount);
    const end = this.#paid + debt;
    const known = this.#accounts.get(party);
    this.#accounts.delete(party);
    if (debt <= 0) return;
    const entry = known && known.entry.sum <= end ? known.entry : this.#insert(party, end);
    this.#accounts.set(party, { end, entry });
  }

  #insert(party: string, sum: number): End {
    const entry = { party, sum };
    let at = this.#ends.push(entry) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = this.#ends[above] as End;
      if (other.sum <= sum) break;
      this.#ends[at] = other;
      at = above;
    }
    this.#ends[at] = entry;
    return entry;
  }

  #removeFirst(): void {
    const last = this.#ends.pop();
    if (last === undefined || this.#ends.length === 0) return;
    let at = 0;
    for (;;) {
      const [left, right] = [this.#ends[2 * at + 1], this.#ends[2 * at + 2]];
      const isRight = right !== undefined && left !== undefined && right.sum < left.sum;
      const least = isRight ? right : left;
      if (least === undefined || least.sum >= last.sum) break;
      this.#ends[at] = least;
      at = 2 * at + (isRight ? 2 : 1);
    }
    this.#ends[at] = last;
  }
}
