import { forgetOldest } from "./forgetOldest.js";

const RECENT_MS = 1_000;

/** Counts the names that were noted within the last second. */
class Recent {
  readonly #now: () => number;
  /** When each was noted last. The latest is the last. */
  readonly #noted = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  note(name: string): void {
    this.#noted.delete(name);
    this.#noted.set(name, this.#now());
    forgetOldest(this.#noted);
  }

  get size(): number {
    const earliest = this.#now() - RECENT_MS;
    for (const [name, at] of this.#noted) {
      if (at > earliest) break;
      this.#noted.delete(name);
    }
    return this.#noted.size;
  }
}

/** Counts the parties that use something at present, so that the work of one leaves room for the others', and the parts of each. */
export class RecentParties {
  readonly #now: () => number;
  readonly #parties: Recent;
  readonly #parts = new Map<string, Recent>();

  /** @param now a monotonic clock in ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#parties = new Recent(now);
  }

  /** Records that a party uses it now. */
  note(party: string, part?: string): void {
    this.#parties.note(party);
    if (part === undefined) return;
    const parts = this.#parts.get(party) ?? new Recent(this.#now);
    parts.note(part);
    this.#parts.delete(party);
    this.#parts.set(party, parts);
    forgetOldest(this.#parts);
  }

  /** The parties of the last second. */
  get size(): number {
    return this.#parties.size;
  }

  /** The parts of the party in the last second. */
  sizeOf(party: string): number {
    return this.#parts.get(party)?.size ?? 0;
  }
}
