import { define } from "../define.js";
import type { Reason } from "./index.js";

/**
 * Whether it helps to send the very same thing again. It never does harm (D18).
 * - `corrected`: it fails again until the caller has done what the remedy says.
 * - `later`: it may pass after a while.
 * - `now`: it may pass at once, or it returns the earlier submission.
 */
export type Retry = "corrected" | "later" | "now";

/** The reasons after which the same may pass after a while. */
const LATER: readonly Reason[] = [
  "NONCE_GAP",
  "CAP_EXCEEDED",
  "WAIVER_NOT_REGISTERED",
  "WRAPPER_NONCE_TOO_LOW",
  "WRAPPER_NONCE_GAP",
  "NODE_REFUSED",
  "KEY_DISABLED",
  "TOO_MANY_UNKNOWN_KEYS",
  "RATE_EXCEEDED",
  "QUEUE_AT_CAPACITY",
  "KEY_SHARE_EXHAUSTED",
  "CONNECTION_FULL",
  "SOCKETS_AT_CAPACITY",
  "BODIES_AT_CAPACITY",
  "STORE_UNAVAILABLE",
  "CHAIN_UNAVAILABLE",
  "SHUTTING_DOWN",
  "INTERNAL_ERROR",
];

/** The reasons after which the same may pass at once. */
const NOW: readonly Reason[] = ["NOT_BROADCAST", "NOT_INCLUDED", "OUTCOME_UNKNOWN", "REQUEST_TOO_SLOW"];

/**
 * Tells whether it helps to send the same transaction or request again.
 * @example
 * ```ts
 * retryOf("RATE_EXCEEDED"); // "later"
 * ```
 */
export function retryOf(reason: Reason): Retry {
  if (NOW.includes(reason)) return "now";
  return LATER.includes(reason) ? "later" : "corrected";
}

export const RETRY_LABELS: Readonly<Record<Retry, string>> = /* @__PURE__ */ define(() => ({
  corrected: "corrected only",
  later: "later",
  now: "at once",
}));
