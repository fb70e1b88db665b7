/** A timer that waits for the virtual clock. */
interface Timer {
  readonly at: number;
  readonly run: () => void;
  /** As Node's timers have. */
  unref(): Timer;
}

/**
 * Runs work on a clock that stands still while anything can go on, and then jumps to the next timer: hours pass in milliseconds.
 * `setTimeout`, `clearTimeout` and `performance.now` are the clock's meanwhile.
 * @param restMs the time that passes after the end of the work.
 */
export async function inVirtualTime<T>(work: () => Promise<T>, restMs = 0): Promise<T> {
  const real = { setTimeout, clearTimeout, now: performance.now };
  const timers = new Set<Timer>();
  let now = 0;
  const start = (run: () => void, ms = 0): Timer => {
    const timer: Timer = { at: now + Math.max(0, ms), run, unref: () => timer };
    timers.add(timer);
    return timer;
  };
  Object.assign(globalThis, { setTimeout: start, clearTimeout: (timer: Timer) => timers.delete(timer) });
  performance.now = () => now;
  /** Runs the timers up to this time, or until the condition holds. */
  const pass = async (until: number, isOver: () => boolean): Promise<void> => {
    for (;;) {
      // Bodies of answers take two turns of the event loop.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      const [next] = [...timers].sort((a, b) => a.at - b.at);
      if (isOver() || (next?.at ?? Number.POSITIVE_INFINITY) > until) return;
      if (next === undefined) throw new Error("nothing will ever happen");
      timers.delete(next);
      now = next.at;
      next.run();
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
