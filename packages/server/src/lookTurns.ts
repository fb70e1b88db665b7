/** Lets the transactions of many requests be looked at a few at a time. */
export interface LookTurns {
  /** Resolves when so many transactions may be looked at. */
  take(transactions: number): Promise<void>;
}

/** Transactions that are looked at before others have their turn: about a millisecond. */
const MOST = 10;

/**
 * To look at a transaction takes the processor for as long as an answer of the database takes to come. Requests that come
 * together are looked at one after the other, and between two of them the event loop turns: else a lane, which waits for
 * one answer after the other, would wait behind all of them each time.
 */
export function createLookTurns(most = MOST): LookTurns {
  const waiting: { readonly transactions: number; readonly begin: () => void }[] = [];
  let left = most;
  let turning = false;
  const turn = () => {
    left = most;
    while (left > 0) {
      const next = waiting.shift();
      if (next === undefined) break;
      left -= next.transactions;
      next.begin();
    }
    turning = left < most;
    if (turning) setImmediate(turn);
  };
  return {
    take(transactions) {
      if (!turning) {
        turning = true;
        setImmediate(turn);
      }
      if (left > 0 && waiting.length === 0) {
        left -= transactions;
        return Promise.resolve();
      }
      return new Promise((begin) => waiting.push({ transactions, begin }));
    },
  };
}
