import { define } from "../define.js";

/** The error codes of a result line, in the order of docs/protocol.md#error-codes. The list is closed. */
export const LINE_CODES = [
  "PARSE_ERROR",
  "INVALID_REQUEST",
  "BATCH_SIZE_EXCEEDED",
  "VALIDATION_FAILED",
  "BROADCAST_FAILED",
  "RATE_LIMITED",
  "QUEUE_FULL",
  "TIMEOUT",
] as const;

/** The error codes that only a request refused as a whole carries (D21); no result line has one. */
export const REQUEST_ONLY_CODES = ["UNAUTHORIZED", "UNAVAILABLE", "NOT_FOUND"] as const;

export type LineCode = (typeof LINE_CODES)[number];
export type ErrorCode = LineCode | (typeof REQUEST_ONLY_CODES)[number];

/**
 * Tells whether a result line can carry the code.
 * @example
 * ```ts
 * isLineCode("TIMEOUT"); // true
 * isLineCode("UNAUTHORIZED"); // false: only a request refused as a whole has it
 * ```
 */
export function isLineCode(code: string): code is LineCode {
  return LINE_CODES.some((known) => known === code);
}

/** The HTTP status of a refused request by its code (D21). A reason may have a status of its own instead. */
export const STATUS_BY_CODE: Readonly<Record<ErrorCode, number>> = {
  PARSE_ERROR: 400,
  INVALID_REQUEST: 400,
  BATCH_SIZE_EXCEEDED: 413,
  VALIDATION_FAILED: 400,
  BROADCAST_FAILED: 502,
  RATE_LIMITED: 429,
  QUEUE_FULL: 503,
  TIMEOUT: 504,
  UNAUTHORIZED: 401,
  UNAVAILABLE: 503,
  NOT_FOUND: 404,
};

/**
 * Whether it helps to send the very same thing again. It never does harm (D18).
 * - `corrected`: it fails again until the caller has done what the remedy says.
 * - `later`: it may pass after a while.
 * - `now`: it may pass at once, or it returns the earlier submission.
 */
export type Retry = "corrected" | "later" | "now";

/** The retry of the reasons of a code, unless a reason has its own. After all other codes, only something corrected passes. */
export const RETRY_BY_CODE: Readonly<Partial<Record<ErrorCode, Retry>>> = {
  RATE_LIMITED: "later",
  QUEUE_FULL: "later",
  UNAVAILABLE: "later",
  TIMEOUT: "now",
};

/** The meaning of each code, for the reference. */
export const CODE_NOTES: Readonly<Record<ErrorCode, string>> = /* @__PURE__ */ define(() => ({
  PARSE_ERROR: "The transaction cannot be parsed.",
  INVALID_REQUEST: "The request is malformed.",
  BATCH_SIZE_EXCEEDED: "The batch has more transactions than the service accepts at once.",
  VALIDATION_FAILED: "The transaction breaks a rule, for example because its signature is invalid.",
  BROADCAST_FAILED: "The broadcast to the chain failed, or the transaction reverted there.",
  RATE_LIMITED: "The rate limit is exceeded, or a daily cap is used up.",
  QUEUE_FULL: "The service's queue, or the key's share of it, is at capacity.",
  TIMEOUT: "The wait for the result timed out.",
  UNAUTHORIZED: "The API key is missing or not valid.",
  UNAVAILABLE: "The service cannot do its work at the moment.",
  NOT_FOUND: "The path, the method or the record does not exist.",
}));

export const RETRY_LABELS: Readonly<Record<Retry, string>> = /* @__PURE__ */ define(() => ({
  corrected: "corrected only",
  later: "later",
  now: "at once",
}));
