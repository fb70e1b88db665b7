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
