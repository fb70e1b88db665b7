/** Lets so many works run at once, and the others wait for their turn, in the order in which they came. */
export interface Turns {
  /** @throws {@link TooManyWaitingError} at once, if as many wait as may. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export class TooManyWaitingError extends Error {
  override readonly name = "TooManyWaitingError";
}

export function createTurns(atOnce: number, mostWaiting: number): Turns {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(work) {
      if (running < atOnce) running++;
      else {
        if (waiting.length >= mostWaiting) throw new TooManyWaitingError(`${waiting.length} wait already`);
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      try {
        return await work();
      } finally {
        // A turn passes on; nobody can take it in between.
        const next = waiting.shift();
        if (next) next();
        else running--;
      }
    },
  };
}
