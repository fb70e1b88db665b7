import { detailsOf, type ErrorBody, isReason, statusOf } from "@gas-waiver/protocol/wire";
import { RequestRefusedError } from "../errors.js";

/** The error of a request whose frame was refused: the same as over HTTP. A frame has the pause in its details. */
export function toRequestRefusedError(error: ErrorBody): RequestRefusedError {
  const { reason } = error;
  const status = reason !== undefined && isReason(reason) ? statusOf(reason) : STATUS_OF_UNKNOWN_REASON;
  const seconds = detailsOf(error, "RATE_EXCEEDED")?.retryAfterSeconds;
  return new RequestRefusedError(status, error, seconds === undefined ? undefined : seconds * 1_000);
}

/** The status for a reason of a newer service, which this version does not know. */
const STATUS_OF_UNKNOWN_REASON = 503;

const TEMPORARY_CODES: ReadonlySet<string> = new Set(["RATE_LIMITED", "QUEUE_FULL", "UNAVAILABLE"]);

/** Tells whether the service may take the same frame a little later. */
export function isTemporary({ code, reason }: ErrorBody): boolean {
  return TEMPORARY_CODES.has(code) && reason !== "INTERNAL_ERROR";
}

/** The error that close code 1009 stands for. */
export function frameTooLargeError(length: number): ErrorBody {
  const message = `a frame of ${length} characters is larger than the service takes`;
  return { code: "INVALID_REQUEST", message, reason: "BODY_TOO_LARGE" };
}
