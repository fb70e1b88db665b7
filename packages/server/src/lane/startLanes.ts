import type { Logger } from "../model/log.js";
import { sleepUnless } from "../util/wakeableTimer.js";

/** How long to wait when the lanes could not start. */
const TRY_EVERY_MS = 500;

export interface LaneStart {
  /** Resolves when the node's chain is ours and its policies are followed, or with false if it is another's. */
  readonly begun: Promise<boolean>;
  /** Safe to call again when it has failed half-way. */
  start(): Promise<void>;
  readonly log: Logger;
  /** Gives it up. */
  readonly signal: AbortSignal;
}

/**
 * Starts the lanes once the chain is confirmed. Nobody waits for this while the service runs, so what is away at this
 * moment, such as the store, is waited for here. Never rejects.
 */
export async function startLanes({ begun, start, log, signal }: LaneStart): Promise<void> {
  if (!(await begun)) return;
  while (!signal.aborted) {
    try {
      return await start();
    } catch (error) {
      log.warn({ err: (error as Error).message }, "the lanes cannot start yet");
    }
    await sleepUnless(TRY_EVERY_MS, signal);
  }
}
