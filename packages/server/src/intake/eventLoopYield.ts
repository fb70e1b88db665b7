import { createLoopPacer, type LoopPacer } from "../util/loopPacer.js";
import { PartyQueue } from "../util/partyQueue.js";

/** Spreads the validation of transactions over turns of the event loop. */
export interface EventLoopYield {
  /**
   * Resolves when the caller may validate this many transactions.
   * @param owner the party whose transactions they are. The parties take turns.
   * @param part the part of a request. The kinds of parts take turns, too.
   */
  acquire(transactions: number, owner?: string, part?: RequestPart): Promise<void>;
}

/**
 * All of a small request; or of a larger one the first slice, or one behind it. A response begins when its first slice is
 * accepted.
 */
export type RequestPart = "small" | "first" | "later";

/** Transactions for each turn of the event loop, which take about a millisecond. One call of `acquire` is not divided. */
const TRANSACTIONS_PER_TURN = 10;
/** The time of the event loop that one transaction takes until it is in a block. Validation is about a third of it. */
const MS_PER_TRANSACTION = 0.3;

/**
 * Requests that come together are validated a few transactions at a time, and the event loop turns in between. To
 * validate a transaction takes the processor for as long as a query takes, and a lane waits for one query after the
 * other. Without the turns, a lane would wait behind all requests each time. A key that floods the service leaves room
 * on the loop for the others.
 */
export function createEventLoopYield(
  transactionsPerTurn = TRANSACTIONS_PER_TURN,
  pacer: LoopPacer = createLoopPacer(),
): EventLoopYield {
  const waiting = new PartyQueue<() => void, RequestPart>();
  let capacity = transactionsPerTurn;
  let isTurning = false;
  const mayStart = (owner: string, part: RequestPart) => !pacer.mustWait(partyOf(owner, part));
  const use = (transactions: number, owner: string, part: RequestPart) => {
    capacity -= transactions;
    pacer.charge(partyOf(owner, part), transactions * MS_PER_TRANSACTION);
  };
  const turn = () => {
    capacity = transactionsPerTurn;
    while (capacity > 0) {
      const next = waiting.take((owner, _, part) => mayStart(owner, part));
      if (next === undefined) break;
      next();
    }
    isTurning = capacity < transactionsPerTurn || !waiting.isEmpty;
    if (capacity < transactionsPerTurn) setImmediate(turn);
    else if (isTurning) setTimeout(turn, pacer.retryMs);
  };
  return {
    acquire(transactions, owner = "", part = "first") {
      if (!isTurning) {
        isTurning = true;
        setImmediate(turn);
      }
      if (capacity > 0 && waiting.isEmpty && mayStart(owner, part)) {
        use(transactions, owner, part);
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const start = () => {
          use(transactions, owner, part);
          resolve();
        };
        waiting.add(owner, part, start);
      });
    },
  };
}

/** The small requests of a key are a party of their own. */
function partyOf(owner: string, part: RequestPart): string {
  return part === "small" ? `${owner} small` : owner;
}
