/**
 * Bounds the number of tasks that run at the same time. The other tasks wait: those of one party in the order in which
 * they came, and the parties in turn.
 */
export interface FairSemaphore {
  /**
   * @param party the owner of the task.
   * @throws {@link TooManyWaitingError} at once, if there is no room to wait.
   */
  run<T>(task: () => Promise<T>, party?: string): Promise<T>;
  /** The number of tasks that wait. */
  readonly waiting: number;
}

export class TooManyWaitingError extends Error {
  override readonly name = "TooManyWaitingError";
}

/**
 * @param maxRunning the most tasks that run at the same time.
 * @param maxWaiting the most tasks that wait.
 * @param maxWaitingOfParty the most tasks of one party that wait.
 * @param maxRunningOfParty the most tasks of one party that run at the same time.
 */
export function createFairSemaphore(
  maxRunning: number,
  maxWaiting: number,
  maxWaitingOfParty = maxWaiting,
  maxRunningOfParty = maxRunning,
): FairSemaphore {
  /** The waiting tasks of each party. The party that is next comes first. */
  const queues = new Map<string, (() => void)[]>();
  const runningOf = new Map<string, number>();
  let running = 0;
  let waiting = 0;
  const mayRun = (party: string) => (runningOf.get(party) ?? 0) < maxRunningOfParty;
  const addRunning = (party: string, change: 1 | -1) => {
    const ofParty = (runningOf.get(party) ?? 0) + change;
    if (ofParty === 0) runningOf.delete(party);
    else runningOf.set(party, ofParty);
    running += change;
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
  const startNext = () => {
    for (const [party, queue] of queues) {
      if (!mayRun(party)) continue;
      queues.delete(party);
      const start = queue.shift();
      // Puts the party behind all others.
      if (queue.length > 0) queues.set(party, queue);
      waiting--;
      addRunning(party, 1);
      start?.();
      return;
    }
  };
  return {
    get waiting() {
      return waiting;
    },
    async run(task, party = "") {
      if (running < maxRunning && mayRun(party)) addRunning(party, 1);
      else await wait(party);
      try {
        return await task();
      } finally {
        // Starts the next task synchronously, so that no later task gets in between.
        addRunning(party, -1);
        startNext();
      }
    },
  };
}
