import { type Level, type Logger, pino } from "pino";

export type { Logger } from "pino";

/** Makes a log of JSON lines on standard error; standard output belongs to the program. No secret is ever logged. */
export function createLog(level: Level | "silent"): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: true }),
  );
}
