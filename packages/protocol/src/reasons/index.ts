import { define } from "../define.js";
import { ACCOUNT } from "./account.js";
import { ADMIN, ADMIN_STATUSES } from "./admin.js";
import { BROADCAST } from "./broadcast.js";
import { CAPS } from "./caps.js";
import { type ErrorCode, STATUS_BY_CODE } from "./codes.js";
import { INNER_TX_RULES } from "./innerTxRules.js";
import { REQUEST, REQUEST_STATUSES } from "./request.js";
import { UNREADABLE } from "./unreadable.js";
import { WATCH } from "./watch.js";

export { type ErrorCode, isLineCode, LINE_CODES, type LineCode, REQUEST_ONLY_CODES } from "./codes.js";

/**
 * The closed list of reasons with their codes (D13). Each reason names the one rule that failed and belongs to one
 * code. It never changes its meaning; a newer service may know more reasons (D26). A reason is defined in the file of
 * its group in this folder: its code, its HTTP status where that differs from the code's, and its note.
 */
export const REASONS = /* @__PURE__ */ define(() => ({
  ...UNREADABLE,
  ...INNER_TX_RULES,
  ...ACCOUNT,
  ...CAPS,
  ...BROADCAST,
  ...WATCH,
  ...REQUEST,
  ...ADMIN,
}));

export type Reason = keyof typeof REASONS;

const OWN_STATUSES: Readonly<Partial<Record<Reason, number>>> = /* @__PURE__ */ define(() => ({
  ...REQUEST_STATUSES,
  ...ADMIN_STATUSES,
}));

/**
 * Tells whether this library knows the reason. A newer service may send others (D26).
 * @example
 * ```ts
 * if (error.reason !== undefined && isReason(error.reason)) console.log(statusOf(error.reason));
 * ```
 */
export function isReason(name: string): name is Reason {
  return Object.hasOwn(REASONS, name);
}

/**
 * Returns the code that a reason belongs to.
 * @example
 * ```ts
 * codeOf("NONCE_TOO_LOW"); // "VALIDATION_FAILED"
 * ```
 */
export function codeOf(reason: Reason): ErrorCode {
  return REASONS[reason];
}

/**
 * Returns the HTTP status of a request that is refused as a whole for the reason (D21).
 * @example
 * ```ts
 * statusOf("RATE_EXCEEDED"); // 429
 * ```
 */
export function statusOf(reason: Reason): number {
  return OWN_STATUSES[reason] ?? STATUS_BY_CODE[codeOf(reason)];
}
