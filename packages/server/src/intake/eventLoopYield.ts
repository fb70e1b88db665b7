/** Spreads the validation of transactions over turns of the event loop. */
export interface EventLoopYield {
  /** Resolves when the caller may validate this many transactions. */
  acquire(transactions: number): Promise<void>;
}

/** Transactions for each turn of the event loop, which take about a millisecond. One call of `acquire` is not divided. */
const TRANSACTIONS_PER_TURN = 10;

/**
 * Requests that come together are validated one after the other, and the event loop turns between two of them. To
 * validate a transaction takes the processor for as long as a query takes, and a lane waits for one query after the
 * other. Without the turns, a lane would wait behind all requests each time.
 */
export function createEventLoopYield(transactionsPerTurn = TRANSACTIONS_PER_TURN): EventLoopYield {
  const waiting: { readonly transactions: number; readonly start: () => void }[] = [];
  let capacity = transactionsPerTurn;
  let isTurning = false;
  const turn = () => {
    capacity = transactionsPerTurn;
    while (capacity > 0) {
      const next = waiting.shift();
      if (next === undefined) break;
      capacity -= next.transactions;
      next.start();
    }
    isTurning = capacity < transactionsPerTurn;
    if (isTurning) setImmediate(turn);
  };
  return {
    acquire(transactions) {
      if (!isTurning) {
        isTurning = true;
        setImmediate(turn);
      }
      if (capacity > 0 && waiting.length === 0) {
        capacity -= transactions;
        return Promise.resolve();
      }
      return new Promise((start) => waiting.push({ transactions, start }));
    },
  };
}
