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
  /** The number of works that wait. */
  readonly waiting: number;
}

export class TooManyWaitingError extends Error {
  override readonly name = "TooManyWaitingError";
}

/**
 * @param maxRunning works at the same time.
 * @param maxWaiting works of all parties.
 * @param maxWaitingOfParty works of one party, of `maxWaiting`.
 * @param maxRunningOfParty works of one party, of `maxRunning`.
 */
export function createFairSemaphore(
  maxRunning: number,
  maxWaiting: number,
  maxWaitingOfParty = maxWaiting,
  maxRunningOfParty = maxRunning,
): FairSemaphore {
  /** The waiting works of each party. The party that is next comes first. */
  const queues = new Map<string, (() => void)[]>();
  const runningOf = new Map<string, number>();
  let running = 0;
  let waiting = 0;
  const mayRun = (party: string) => (runningOf.get(party) ?? 0) < maxRunningOfParty;
  const count = (party: string, by: 1 | -1) => {
    const left = (runningOf.get(party) ?? 0) + by;
    if (left === 0) runningOf.delete(party);
    else runningOf.set(party, left);
    running += by;
  };
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
    for (const [party, queue] of queues) {
      if (!mayRun(party)) continue;
      queues.delete(party);
      const start = queue.shift();
      // Puts the party behind all others.
      if (queue.length > 0) queues.set(party, queue);
      waiting--;
      count(party, 1);
      start?.();
      return;
    }
  };
  return {
    get waiting() {
      return waiting;
    },
    async run(work, party = "") {
      if (running < maxRunning && mayRun(party)) count(party, 1);
      else await wait(party);
      try {
        return await work();
      } finally {
        // Passes its place on directly, so that no later work gets in between.
        count(party, -1);
        takeNext();
      }
    },
  };
}
