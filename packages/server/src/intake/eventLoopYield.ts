/** Lets the transactions of many requests be looked at a few at a time. */
export interface EventLoopYield {
  /** Resolves when so many transactions may be looked at. */
  acquire(transactions: number): Promise<void>;
}

/** Transactions of a turn of the event loop, about a millisecond; what a request asks for is not divided. */
const SHARE = 10;

/**
 * To look at a transaction takes the processor for as long as an answer of the database takes to come. Requests that come
 * together are looked at one after the other, and between two of them the event loop turns: else a lane, which waits for
 * one answer after the other, would wait behind all of them each time.
 */
export function createEventLoopYield(share = SHARE): EventLoopYield {
  const waiting: { readonly transactions: number; readonly begin: () => void }[] = [];
  let left = share;
  let turning = false;
  const turn = () => {
    left = share;
    while (left > 0) {
      const next = waiting.shift();
      if (next === undefined) break;
      left -= next.transactions;
      next.begin();
    }
    turning = left < share;
    if (turning) setImmediate(turn);
  };
  return {
    acquire(transactions) {
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
