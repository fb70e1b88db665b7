import type { ErrorCode } from "../reasons.js";

/**
 * Where a reason is seen: in a result line (and then in the submission's record), as the error of a whole HTTP
 * request, as the error frame of a whole request over a WebSocket, or as the error of the operators' admin API.
 */
export type Place = "line" | "http" | "frame" | "admin";

/**
 * Is it of use to send the very same thing again? It never does harm (D18).
 * - `corrected`: it fails again until what the remedy says is done.
 * - `later`: it may pass after a while.
 * - `now`: it may pass, or gives the submission of before.
 */
export type Retry = "corrected" | "later" | "now";

/** What a caller needs to know of a reason. The texts are plain sentences with code in backticks. */
export interface ReasonNote {
  readonly where: readonly Place[];
  readonly cause: string;
  readonly remedy: string;
  readonly retry: Retry;
}

export const RETRY_LABELS: Readonly<Record<Retry, string>> = {
  corrected: "corrected only",
  later: "later",
  now: "at once",
};

/** What each code says, as the protocol document has it (section 7), and D21 for the last three. */
export const CODE_NOTES: Readonly<Record<ErrorCode, string>> = {
  PARSE_ERROR: "The transaction could not be parsed.",
  INVALID_REQUEST: "The request is malformed.",
  BATCH_SIZE_EXCEEDED: "The batch size exceeds the allowed maximum.",
  VALIDATION_FAILED: "Transaction validation failed, for example for an invalid signature.",
  BROADCAST_FAILED: "Broadcast to the chain failed, or the transaction reverted there.",
  RATE_LIMITED: "The rate limit was exceeded.",
  QUEUE_FULL: "The service's queue, or the key's share of it, is at capacity.",
  TIMEOUT: "The waiting for a result timed out.",
  UNAUTHORIZED: "The API key is missing or not good.",
  UNAVAILABLE: "The service cannot do its work now.",
  NOT_FOUND: "There is no such path, method or record.",
};
