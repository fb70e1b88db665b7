/**
 * Bounds the number of works that run at the same time. The others wait: the works of one party in the order in which
 * they came, and the parties in turn.
 */
export interface FairSemaphore {
  /**
   * @param party the owner of the work.
   * @throws {@link TooManyWaitingError} at once, if there is no room to wait.
   */
  run<T>(work: () => Promise<T>, party?: string): Promise<T>;
}

export class TooManyWaitingError extends Error {
  override readonly name = "TooManyWaitingError";
}

/**
 * @param maxRunning works at the same time.
 * @param maxWaiting works of all parties.
 * @param maxWaitingOfParty works of one party, of `maxWaiting`.
 */
export function createFairSemaphore(
  maxRunning: number,
  maxWaiting: number,
  maxWaitingOfParty = maxWaiting,
): FairSemaphore {
  /** The waiting works of each party. The party that is next comes first. */
  const queues = new Map<string, (() => void)[]>();
  let running = 0;
  let waiting = 0;
  const wait = (party: string) => {
    const queue = queues.get(party) ?? [];
    if (queue.length >= maxWaitingOfParty)
      throw new TooManyWaitingError(`${queue.length} of the same party wait already`);
    if (waiting >= maxWaiting) throw new TooManyWaitingError(`${waiting} wait already`);
    waiting++;
    queues.set(party, queue);
    return new Promise<void>((resolve) => queue.push(resolve));
  };
  const takeNext = () => {
    const [first] = queues;
    if (first === undefined) return undefined;
    const [party, queue] = first;
    queues.delete(party);
    const start = queue.shift();
    // Puts the party behind all others.
    if (queue.length > 0) queues.set(party, queue);
    waiting--;
    return start;
  };
  return {
    async run(work, party = "") {
      if (running < maxRunning) running++;
      else await wait(party);
      try {
        return await work();
      } finally {
        // Passes its place on directly, so that no later work gets in between.
        const start = takeNext();
        if (start) start();
        else running--;
      }
    },
  };
}
