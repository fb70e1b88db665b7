import { type Level, type Logger, pino } from "pino";

export type { Logger } from "pino";

/** The loggers that were made from the log of a service, each of which has a level of its own. */
const descendants = new WeakMap<Logger, Set<WeakRef<Logger>>>();

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
    pino.destination({ fd: 2, sync: true }),
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
