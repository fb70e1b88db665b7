import { createLoopPacer, type LoopPacer } from "../util/loopPacer.js";
import { PartyQueue } from "../util/partyQueue.js";

/** Spreads the validation of transactions over turns of the event loop. */
export interface EventLoopYield {
  /**
   * Resolves when the caller may validate this many transactions.
   * @param keyId the API key whose transactions they are. The keys take turns.
   * @param part the part of a request. The kinds of parts take turns, too.
   */
  acquire(transactions: number, keyId?: string, part?: RequestPart): Promise<void>;
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
  const mayStart = (keyId: string, part: RequestPart) => !pacer.mustWait(partyOf(keyId, part));
  const use = (transactions: number, keyId: string, part: RequestPart) => {
    capacity -= transactions;
    pacer.charge(partyOf(keyId, part), transactions * MS_PER_TRANSACTION);
  };
  const turn = () => {
    capacity = transactionsPerTurn;
    while (capacity > 0) {
      const next = waiting.take((keyId, _, part) => mayStart(keyId, part));
      if (next === undefined) break;
      next();
    }
    isTurning = capacity < transactionsPerTurn || !waiting.isEmpty;
    if (capacity < transactionsPerTurn) setImmediate(turn);
    else if (isTurning) setTimeout(turn, pacer.retryMs);
  };
  return {
    acquire(transactions, keyId = "", part = "first") {
      if (!isTurning) {
        isTurning = true;
        setImmediate(turn);
      }
      if (capacity > 0 && waiting.isEmpty && mayStart(keyId, part)) {
        use(transactions, keyId, part);
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const start = () => {
          use(transactions, keyId, part);
          resolve();
        };
        waiting.add(keyId, part, start);
      });
    },
  };
}

/** The small requests of a key are a party of their own. */
function partyOf(keyId: string, part: RequestPart): string {
  return part === "small" ? `${keyId} small` : keyId;
}
