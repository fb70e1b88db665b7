import { define } from "../define.js";
import { codeOf, type ErrorCode, type Reason } from "./index.js";

/**
 * Whether it helps to send the very same thing again. It never does harm (D18).
 * - `corrected`: it fails again until the caller has done what the remedy says.
 * - `later`: it may pass after a while.
 * - `now`: it may pass at once, or it returns the earlier submission.
 */
export type Retry = "corrected" | "later" | "now";

/** The retry of all reasons of a code. After all other codes, only something corrected passes. */
const BY_CODE: Readonly<Partial<Record<ErrorCode, Retry>>> = {
  RATE_LIMITED: "later",
  QUEUE_FULL: "later",
  UNAVAILABLE: "later",
  TIMEOUT: "now",
};

/** The retry of the reasons that differ from their code. */
const BY_REASON: Readonly<Partial<Record<Reason, Retry>>> = {
  NONCE_GAP: "later",
  WAIVER_NOT_REGISTERED: "later",
  WRAPPER_NONCE_TOO_LOW: "later",
  WRAPPER_NONCE_GAP: "later",
  NODE_REFUSED: "later",
  KEY_DISABLED: "later",
  REQUEST_TOO_SLOW: "now",
};

/**
 * Tells whether it helps to send the same transaction or request again.
 * @example
 * ```ts
 * retryOf("RATE_EXCEEDED"); // "later"
 * ```
 */
export function retryOf(reason: Reason): Retry {
  return BY_REASON[reason] ?? BY_CODE[codeOf(reason)] ?? "corrected";
}

export const RETRY_LABELS: Readonly<Record<Retry, string>> = /* @__PURE__ */ define(() => ({
  corrected: "corrected only",
  later: "later",
  now: "at once",
}));
