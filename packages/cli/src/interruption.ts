/** Time in ms that a clean shutdown may take. After it the process ends, and recovery at the next start does the rest. */
const END_WITHIN_MS = 4_000;

/** Signals closer together than this count as one: at Ctrl-C both the terminal and npm send SIGINT to this process. */
const SAME_SIGNAL_MS = 300;

interface SignalSource {
  on(name: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}

type Exit = (status: number) => void;

/**
 * Turns SIGINT and SIGTERM into an AbortSignal. The first signal aborts it. The process ends at once if the shutdown
 * takes too long or a second signal comes; that loses nothing, because accepted submissions are in the store.
 */
export function listenForSignals(source: SignalSource, exit: Exit): AbortSignal {
  const interruption = new AbortController();
  let since: number | undefined;
  const receive = () => {
    if (since === undefined) {
      since = performance.now();
      setTimeout(exit, END_WITHIN_MS, 0).unref();
      interruption.abort(new InterruptedError());
    } else if (performance.now() - since > SAME_SIGNAL_MS) exit(0);
  };
  source.on("SIGINT", receive);
  source.on("SIGTERM", receive);
  return interruption.signal;
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
