import { onAbort } from "./onAbort.js";

/** A pause between two rounds of a loop, which can be cut short. */
export interface WakeableTimer {
  /** Resolves after `ms`. If `wakeable`, it resolves at once when `wake` was or is called. */
  rest(ms: number, wakeable: boolean): Promise<void>;
  /** Ends a wakeable rest: the present one, or the next one if there is none. */
  wake(): void;
  /** Forgets a call of `wake` that has ended no rest: what begins now sees all that there was to wake for. */
  clear(): void;
  /** Ends the present rest and all later ones at once. */
  end(): void;
}

export function createWakeableTimer(): WakeableTimer {
  let wakeUp: (() => void) | undefined;
  let isWoken = false;
  let isEnded = false;
  return {
    rest(ms, wakeable) {
      if (isEnded || (isWoken && wakeable)) {
        isWoken = false;
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
          if (!wakeable && !isEnded) return;
          isWoken = false;
          done();
        };
      });
    },
    wake() {
      isWoken = true;
      wakeUp?.();
    },
    clear() {
      isWoken = false;
    },
    end() {
      isEnded = true;
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
      stopListening();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const stopListening = onAbort(signal, done);
  });
}
