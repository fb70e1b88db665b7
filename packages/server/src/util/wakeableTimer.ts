/** A rest between two looks that ends early when there is news, or for good. */
export interface WakeableTimer {
  /** Resolves after `ms`; if `wakeable`, at once when there is or comes news. */
  rest(ms: number, wakeable: boolean): Promise<void>;
  /** There is news. */
  wake(): void;
  /** Ends this rest and all later ones. */
  end(): void;
}

export function createWakeableTimer(): WakeableTimer {
  let wakeUp: (() => void) | undefined;
  let news = false;
  let ended = false;
  return {
    rest(ms, wakeable) {
      if (ended || (news && wakeable)) {
        news = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          wakeUp = undefined;
          resolve();
        };
        const timer = setTimeout(done, ms);
        wakeUp = () => {
          if (!wakeable && !ended) return;
          news = false;
          done();
        };
      });
    },
    wake() {
      news = true;
      wakeUp?.();
    },
    end() {
      ended = true;
      wakeUp?.();
    },
  };
}

/** Resolves after `ms`, or when the signal is aborted. */
export function sleepUnless(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
