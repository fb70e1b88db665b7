/** A timer that waits for the virtual clock. */
interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/**
 * Runs work on a clock that stands still while anything can go on, and then jumps to the next timer: hours pass in milliseconds.
 * `setTimeout`, `clearTimeout` and `performance.now` are the clock's meanwhile.
 * @param restMs the time that passes after the end of the work.
 */
export async function inVirtualTime<T>(work: () => Promise<T>, restMs = 0): Promise<T> {
  const real = { setTimeout, clearTimeout, now: performance.now };
  const timers = new Map<number, Timer>();
  let now = 0;
  let ids = 0;
  const start = (run: () => void, ms = 0): number => {
    timers.set(++ids, { at: now + Math.max(0, ms), run });
    return ids;
  };
  Object.assign(globalThis, { setTimeout: start, clearTimeout: (id: number) => timers.delete(id) });
  performance.now = () => now;
  /** Runs the timers up to this time, or until the condition holds. */
  const pass = async (until: number, isOver: () => boolean): Promise<void> => {
    for (;;) {
      // Bodies of answers take two turns of the event loop.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      const [next] = [...timers].sort(([, a], [, b]) => a.at - b.at);
      if (isOver() || (next?.[1].at ?? Number.POSITIVE_INFINITY) > until) return;
      if (next === undefined) throw new Error("nothing will ever happen");
      timers.delete(next[0]);
      now = next[1].at;
      next[1].run();
    }
  };
  try {
    let isOver = false;
    const done = work().finally(() => {
      isOver = true;
    });
    done.catch(() => undefined);
    await pass(Number.POSITIVE_INFINITY, () => isOver);
    await pass(now + restMs, () => false);
    return await done;
  } finally {
    Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout });
    performance.now = real.now;
  }
}
