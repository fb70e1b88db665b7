import { ConnectionFailedError, RequestRefusedError } from "../errors.js";

/** The reasons of the code `UNAVAILABLE` whose meaning includes that nothing was accepted. */
const REASONS_BEFORE_ACCEPTANCE: ReadonlySet<string | undefined> = new Set([
  "CHAIN_UNAVAILABLE",
  "SHUTTING_DOWN",
]);

/**
 * Tells whether the error of a submit proves that the service has accepted nothing of this request. A failure of the
 * service (a status of 500 or above) proves it only by its code or reason: those of a newer service leave it open.
 */
export function isSurelyNotAccepted(error: unknown): boolean {
  if (error instanceof ConnectionFailedError) return error.certainty === "not_sent";
  if (!(error instanceof RequestRefusedError)) return false;
  const { status, code, reason } = error;
  return status < 500 || code === "QUEUE_FULL" || REASONS_BEFORE_ACCEPTANCE.has(reason);
}
