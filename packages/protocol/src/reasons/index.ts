import { define } from "../define.js";
import { ACCOUNT } from "./account.js";
import { ADMIN } from "./admin.js";
import { BROADCAST } from "./broadcast.js";
import { CAPS } from "./caps.js";
import { type ErrorCode, RETRY_BY_CODE, type Retry, STATUS_BY_CODE } from "./codes.js";
import { INNER_TX_RULES } from "./innerTxRules.js";
import type { ReasonRecord } from "./reasonGroup.js";
import { REQUEST } from "./request.js";
import { UNREADABLE } from "./unreadable.js";
import { WATCH } from "./watch.js";

export {
  type ErrorCode,
  isLineCode,
  LINE_CODES,
  type LineCode,
  REQUEST_ONLY_CODES,
  type Retry,
} from "./codes.js";

/** Every reason, under its code. */
type AllByCode = typeof UNREADABLE &
  typeof INNER_TX_RULES &
  typeof ACCOUNT &
  typeof CAPS &
  typeof BROADCAST &
  typeof WATCH &
  typeof REQUEST &
  typeof ADMIN;

export type Reason = { [Code in ErrorCode]: keyof AllByCode[Code] }[ErrorCode];

type CodeOf<R extends Reason> = {
  [Code in ErrorCode]: R extends keyof AllByCode[Code] ? Code : never;
}[ErrorCode];

/** The record of a reason, as its group's file has it. */
export type RecordOf<R extends Reason> = {
  [Code in ErrorCode]: R extends keyof AllByCode[Code] ? AllByCode[Code][R] : never;
}[ErrorCode];

/** The record of each reason, with its code. */
export const RECORDS = /* @__PURE__ */ define(() => {
  const groups = [UNREADABLE, INNER_TX_RULES, ACCOUNT, CAPS, BROADCAST, WATCH, REQUEST, ADMIN];
  const entries = groups
    .flatMap((group) => Object.entries<Readonly<Record<string, ReasonRecord>>>(group))
    .flatMap(([code, reasons]) =>
      Object.entries(reasons).map(([reason, record]) => [reason, { code, ...record }]),
    );
  return Object.fromEntries(entries) as Readonly<Record<Reason, ReasonRecord & { readonly code: ErrorCode }>>;
});

/**
 * The closed list of reasons with their codes (D13). Each reason names the one rule that failed and belongs to one
 * code. It never changes its meaning; a newer service may know more reasons (D26). A reason is defined in the file of
 * its group in this folder: its record under its code, and its note.
 */
export const REASONS = /* @__PURE__ */ define(
  () =>
    Object.fromEntries(Object.entries(RECORDS).map(([reason, { code }]) => [reason, code])) as {
      readonly [R in Reason]: CodeOf<R>;
    },
);

/**
 * Tells whether this library knows the reason. A newer service may send others (D26).
 * @example
 * ```ts
 * if (error.reason !== undefined && isReason(error.reason)) console.log(statusOf(error.reason));
 * ```
 */
export function isReason(name: string): name is Reason {
  return Object.hasOwn(RECORDS, name);
}

/**
 * Returns the code that a reason belongs to.
 * @example
 * ```ts
 * codeOf("NONCE_TOO_LOW"); // "VALIDATION_FAILED"
 * ```
 */
export function codeOf(reason: Reason): ErrorCode {
  return RECORDS[reason].code;
}

/**
 * Returns the HTTP status of a request that is refused as a whole for the reason (D21).
 * @example
 * ```ts
 * statusOf("RATE_EXCEEDED"); // 429
 * ```
 */
export function statusOf(reason: Reason): number {
  const { status, code } = RECORDS[reason];
  return status ?? STATUS_BY_CODE[code];
}

/**
 * Tells whether it helps to send the same transaction or request again.
 * @example
 * ```ts
 * retryOf("RATE_EXCEEDED"); // "later"
 * ```
 */
export function retryOf(reason: Reason): Retry {
  const { retry, code } = RECORDS[reason];
  return retry ?? RETRY_BY_CODE[code] ?? "corrected";
}

/** Tells whether a validator gives the reason for a wrapper that it refuses (D7, D13). */
export function isValidatorReason(reason: string): reason is Reason {
  return isReason(reason) && RECORDS[reason].node === true;
}
