/**
 * Lets so many works run at once, and the others wait for their turn: those of one party in the order in which they
 * came, and the parties in turn.
 */
export interface FairSemaphore {
  /**
   * @param party whose work it is.
   * @throws {@link TooManyWaitingError} at once, if as many wait as may.
   */
  run<T>(work: () => Promise<T>, party?: string): Promise<T>;
}

export class TooManyWaitingError extends Error {
  override readonly name = "TooManyWaitingError";
}

/** @param mostOfOne of `mostWaiting`, how many may wait of one party. */
export function createFairSemaphore(
  atOnce: number,
  mostWaiting: number,
  mostOfOne = mostWaiting,
): FairSemaphore {
  /** Of the parties in the order of their turns. */
  const waiting = new Map<string, (() => void)[]>();
  let running = 0;
  let length = 0;
  const wait = (party: string) => {
    const own = waiting.get(party) ?? [];
    if (own.length >= mostOfOne)
      throw new TooManyWaitingError(`${own.length} of the same party wait already`);
    if (length >= mostWaiting) throw new TooManyWaitingError(`${length} wait already`);
    length++;
    waiting.set(party, own);
    return new Promise<void>((resolve) => own.push(resolve));
  };
  const next = () => {
    const [first] = waiting;
    if (first === undefined) return undefined;
    const [party, own] = first;
    waiting.delete(party);
    const begin = own.shift();
    // The others have their turns first.
    if (own.length > 0) waiting.set(party, own);
    length--;
    return begin;
  };
  return {
    async run(work, party = "") {
      if (running < atOnce) running++;
      else await wait(party);
      try {
        return await work();
      } finally {
        // A turn passes on; nobody can take it in between.
        const begin = next();
        if (begin) begin();
        else running--;
      }
    },
  };
}
