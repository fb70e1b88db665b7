import { type ErrorBody, isReason, statusOf } from "@gas-waiver/protocol/wire";
import { RequestRefusedError } from "./WaiverClientError.js";

/** What a request fails with whose frame was refused: the same as over HTTP. */
export function refusalOf(error: ErrorBody): RequestRefusedError {
  const { reason } = error;
  const status = reason !== undefined && isReason(reason) ? statusOf(reason) : UNKNOWN_REASON;
  return new RequestRefusedError(status, error, undefined);
}

/** A newer service may know reasons that have no status here. */
const UNKNOWN_REASON = 503;

const PASSING: ReadonlySet<string> = new Set(["RATE_LIMITED", "QUEUE_FULL", "UNAVAILABLE"]);

/** May the same frame be taken a little later? */
export function isPassing({ code, reason }: ErrorBody): boolean {
  return PASSING.has(code) && reason !== "INTERNAL_ERROR";
}

/** What closing with 1009 says. */
export function tooLarge(length: number): ErrorBody {
  const message = `a frame of ${length} characters is larger than the service takes`;
  return { code: "INVALID_REQUEST", message, reason: "BODY_TOO_LARGE" };
}
