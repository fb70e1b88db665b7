import { RpcUnavailableError } from "../chain/rpc/rpc.js";
import type { Logger } from "../model/telemetry/log.js";
import { isStoreUnavailable } from "../store/database/storeTrouble.js";
import { LeaseLostError } from "../store/lanes/heldLane.js";

/** Logs an error of one of the lane's loops. The loop tries again. */
export function logFailure(log: Logger, error: unknown, loop: string): void {
  const err = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (error instanceof LeaseLostError) log.warn({ err }, `${loop}: the lane has another owner`);
  // The store's monitor reports its troubles, once for all lanes.
  else if (isStoreUnavailable(error)) log.debug({ err }, `${loop}: tries again when the store works`);
  else log.warn({ err }, `${loop}: tries again`);
}

/** The failures of a loop that does several things. */
export interface FailureLog {
  /** Logs an error of one thing, but for all but the first of those that only say that no node answers. */
  note(thing: object, error: unknown): void;
  /** The thing has not failed. Logs when nothing fails any more because no node answers. */
  end(thing: object): void;
}

export function createFailureLog(log: Logger, loop: string): FailureLog {
  const unanswered = new Set<object>();
  return {
    note(thing, error) {
      const isKnown = unanswered.size > 0;
      const isUnanswered = error instanceof RpcUnavailableError;
      if (isUnanswered) unanswered.add(thing);
      if (!isUnanswered || !isKnown) logFailure(log, error, loop);
    },
    end(thing) {
      if (unanswered.delete(thing) && unanswered.size === 0) log.info(`${loop}: nodes answer again`);
    },
  };
}
