import type { Logger } from "../model/telemetry/log.js";
import { sleepUnless } from "../util/wakeableTimer.js";

const RETRY_MS = 500;

export interface LaneStart {
  /** Resolves to true when the node's chain is confirmed and its policies are followed; to false if it is another's. */
  readonly confirmed: Promise<boolean>;
  /** Starts the lanes. May be called again after it has failed half-way. */
  start(): Promise<void>;
  readonly log: Logger;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
}

/**
 * Starts the lanes once the chain is confirmed. The service runs meanwhile, so a store that is away just now is tried
 * again. Never rejects.
 */
export async function startLanes({ confirmed, start, log, signal }: LaneStart): Promise<void> {
  if (!(await confirmed)) return;
  while (!signal.aborted) {
    try {
      return await start();
    } catch (error) {
      log.warn({ err: (error as Error).message }, "the lanes cannot start yet");
    }
    await sleepUnless(RETRY_MS, signal);
  }
}
