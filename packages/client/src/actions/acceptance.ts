import { type ErrorDetails, isReason, retryOf } from "@gas-waiver/protocol/wire";
import {
  ConnectionFailedError,
  InvalidArgumentError,
  isFromNode,
  MalformedAnswerError,
  RequestRefusedError,
  WaiverClientError,
} from "../errors.js";

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
  // Whoever answered has no such route, or is a node, so it is no gas-waiver service. A proxy that failed may have one behind it.
  if (error instanceof MalformedAnswerError)
    return [404, 405].includes(error.status) || (error.status < 500 && isFromNode(error.cause));
  if (!(error instanceof RequestRefusedError)) return error instanceof InvalidArgumentError;
  const { status, code, reason } = error;
  return status < 500 || code === "QUEUE_FULL" || REASONS_BEFORE_ACCEPTANCE.has(reason);
}

const TO_DO = "; the service may have it: send the same bytes again, as `inDoubt` has them";

/** Returns the error with these transactions as its `inDoubt`. The reason of an aborted signal stays as it is. */
export function leavingInDoubt(
  error: unknown,
  transactions: readonly string[],
  indexes: Iterable<number>,
): unknown {
  if (!(error instanceof WaiverClientError)) return error;
  const inDoubt = [...indexes].map((index) => ({ index, signed: transactions[index] ?? "" }));
  if (inDoubt.length === 0 || error.inDoubt.length > 0) return error;
  const message = error.message.endsWith(TO_DO) ? error.message : error.message + TO_DO;
  return Object.assign(error, { inDoubt, message });
}

/** Tells whether the very same transaction may succeed when it is sent again. */
export function mayPassLater({
  reason,
  details,
}: {
  readonly reason?: string | undefined;
  readonly details?: ErrorDetails | undefined;
}): boolean {
  const known = reason !== undefined && isReason(reason) ? retryOf(reason) : "corrected";
  return (details?.retry ?? known) !== "corrected";
}
