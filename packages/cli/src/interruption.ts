/** How long everything may take to end after a signal, in ms. What is still open then is left to recovery. */
const END_WITHIN_MS = 4_000;

/** Signals closer together than this are one: npm passes on a Ctrl-C that the terminal has sent to us as well. */
const SAME_SIGNAL_MS = 300;

interface SignalSource {
  on(name: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}

type Exit = (status: number) => void;

/**
 * Turns SIGINT and SIGTERM into an AbortSignal. The first one asks everything to end; if that takes too long,
 * or a second one comes, the process ends at once. It can: what the service has accepted is in its store.
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

/** The person asked the program to end. */
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
