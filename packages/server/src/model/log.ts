import { type Level, type Logger, pino } from "pino";

export type { Logger } from "pino";

/** JSON lines on standard error, so that standard output stays the program's own. Nothing secret is ever logged. */
export function createLog(level: Level | "silent"): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: true }),
  );
}
