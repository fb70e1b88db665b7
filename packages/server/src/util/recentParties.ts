/** Tells whether several parties use something at present, so that the work of one has to leave room for the others'. */
export interface RecentParties {
  /** Records that a party uses it now. */
  note(party: string): void;
  /** True for a second after a party has used it within a second of another one. */
  readonly isShared: boolean;
}

const RECENT_MS = 1_000;

/** @param now a monotonic clock in ms. */
export function createRecentParties(now: () => number = () => performance.now()): RecentParties {
  let last: { readonly party: string; readonly at: number } | undefined;
  let sharedUntil = Number.NEGATIVE_INFINITY;
  return {
    note(party) {
      const at = now();
      if (last !== undefined && last.party !== party && at - last.at < RECENT_MS)
        sharedUntil = at + RECENT_MS;
      last = { party, at };
    },
    get isShared() {
      return now() < sharedUntil;
    },
  };
}
