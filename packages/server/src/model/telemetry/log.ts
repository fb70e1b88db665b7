import { type Level, type Logger, pino } from "pino";

export type { Logger } from "pino";

/** The loggers that were made from the log of a service, each of which has a level of its own. */
const descendants = new WeakMap<Logger, Set<WeakRef<Logger>>>();

/** The most characters that wait for a full disk, or for a reader that stands still; further lines are lost. */
const MAX_UNWRITTEN = 1_048_576;
const RETRY_MS = 20;

/** Standard error, which neither ends the service nor holds it up where it takes nothing. */
function standardError() {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: MAX_UNWRITTEN, retryEAGAIN: () => false });
  let isWaiting = false;
  stream.on("error", () => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      stream.write("");
    }, RETRY_MS).unref();
  });
  // Without `flushSync`, by which a fatal line would wait for the disk.
  return { write: (line: string) => void stream.write(line) };
}

/** Makes a log of JSON lines on standard error; standard output belongs to the program. No secret is ever logged. */
export function createLog(level: Level | "silent"): Logger {
  const children = new Set<WeakRef<Logger>>();
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      onChild(child) {
        for (const known of children) if (known.deref() === undefined) children.delete(known);
        children.add(new WeakRef(child));
      },
    },
    standardError(),
  );
  descendants.set(log, children);
  return log;
}

/** Sets the lowest level of a service's log, and of all loggers that were made from it. */
export function setLogLevel(log: Logger, level: Level | "silent"): void {
  log.level = level;
  for (const child of descendants.get(log) ?? []) {
    const living = child.deref();
    if (living) living.level = level;
  }
}
