import { STATUS } from "./exitStatus.js";

/** Time in ms that a clean shutdown may take. After it the process ends, and recovery at the next start does the rest. */
const END_WITHIN_MS = 4_000;

/** The terms of the running command for its shutdown. */
export interface ShutdownTerms {
  /** The status of the process if the shutdown takes too long. */
  readonly overdueStatus: number;
  /** The time for which the command goes on working on purpose before it shuts down, in ms. */
  readonly delayMs: number;
}

/** Signals closer together than this count as one: at Ctrl-C both the terminal and npm send SIGINT to this process. */
const SAME_SIGNAL_MS = 300;

/** The status of a process that a second signal has ended. */
const FORCED_STATUS = { SIGINT: STATUS.interrupted, SIGTERM: STATUS.terminated } as const;

type SignalName = keyof typeof FORCED_STATUS;

interface SignalSource {
  on(name: SignalName, listener: () => void): unknown;
}

type Exit = (status: number) => void;

/**
 * Turns SIGINT and SIGTERM into an AbortSignal. The first signal aborts it. The process ends at once if the shutdown
 * takes too long or a second signal comes; that loses nothing, because accepted submissions are in the store.
 * @param terms is called at the first signal.
 */
export function listenForSignals(source: SignalSource, exit: Exit, terms: () => ShutdownTerms): AbortSignal {
  const interruption = new AbortController();
  let since: number | undefined;
  const receive = (name: SignalName) => {
    if (since === undefined) {
      since = performance.now();
      const { overdueStatus, delayMs } = terms();
      setTimeout(exit, delayMs + END_WITHIN_MS, overdueStatus).unref();
      interruption.abort(new InterruptedError());
    } else if (performance.now() - since > SAME_SIGNAL_MS) exit(FORCED_STATUS[name]);
  };
  source.on("SIGINT", () => receive("SIGINT"));
  source.on("SIGTERM", () => receive("SIGTERM"));
  return interruption.signal;
}

interface HangupSource {
  on(name: "SIGHUP", listener: () => void): unknown;
  off(name: "SIGHUP", listener: () => void): unknown;
}

export type Hangups = ReturnType<typeof keepHangups>;

/**
 * Keeps a SIGHUP that comes while the program loads for a command that reloads by it. It would end the process, which
 * supervisors take for a wish.
 */
export function keepHangups(source: HangupSource) {
  let isHungUp = false;
  const note = () => {
    isHungUp = true;
  };
  source.on("SIGHUP", note);
  return {
    /** The command begins to run: SIGHUP ends one that does not listen at once. */
    release: () => void setImmediate(() => source.off("SIGHUP", note)),
    listen(listener: () => void): void {
      source.on("SIGHUP", listener);
      if (isHungUp) listener();
    },
  };
}

/** The abort reason after SIGINT or SIGTERM. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
  constructor() {
    super("interrupted");
  }
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
