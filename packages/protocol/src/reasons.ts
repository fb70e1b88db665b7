/** The eight error codes of a result line (docs/protocol.md#error-codes). */
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

/** The further codes of a request refused whole (D21). They are never in a result line. */
export const REQUEST_ONLY_CODES = ["UNAUTHORIZED", "UNAVAILABLE", "NOT_FOUND"] as const;

export type LineCode = (typeof LINE_CODES)[number];
export type ErrorCode = LineCode | (typeof REQUEST_ONLY_CODES)[number];

/**
 * The closed list of reasons (D13): each names the one rule that failed, and belongs to one code.
 * A reason never changes its meaning; new ones may be added (D26).
 */
export const REASONS = {
  // The InnerTx could not be parsed (D2).
  INVALID_HEX: "PARSE_ERROR",
  EMPTY_TRANSACTION: "PARSE_ERROR",
  MALFORMED_RLP: "PARSE_ERROR",
  NON_CANONICAL_RLP: "PARSE_ERROR",
  MALFORMED_TRANSACTION: "PARSE_ERROR",

  // The InnerTx breaks a rule (D1–D4).
  UNSUPPORTED_TYPE: "VALIDATION_FAILED",
  UNPROTECTED_SIGNATURE: "VALIDATION_FAILED",
  INVALID_SIGNATURE: "VALIDATION_FAILED",
  HIGH_S_SIGNATURE: "VALIDATION_FAILED",
  NONCE_OUT_OF_RANGE: "VALIDATION_FAILED",
  WRONG_CHAIN_ID: "VALIDATION_FAILED",
  NON_ZERO_GAS_PRICE: "VALIDATION_FAILED",
  CONTRACT_CREATION: "VALIDATION_FAILED",
  TARGET_IS_MARKER: "VALIDATION_FAILED",
  GAS_LIMIT_TOO_LOW: "VALIDATION_FAILED",
  GAS_LIMIT_TOO_HIGH: "VALIDATION_FAILED",
  DATA_TOO_LONG: "VALIDATION_FAILED",
  TARGET_NOT_ALLOWED: "VALIDATION_FAILED",
  SELECTOR_NOT_ALLOWED: "VALIDATION_FAILED",

  // The InnerTx does not fit the user's account (D7, D20).
  NONCE_TOO_LOW: "VALIDATION_FAILED",
  NONCE_CONFLICT: "VALIDATION_FAILED",
  NONCE_GAP: "VALIDATION_FAILED",
  INSUFFICIENT_BALANCE: "VALIDATION_FAILED",

  // A daily cap of the API key is used up (D25).
  CAP_EXCEEDED: "RATE_LIMITED",

  // The WrapperTx breaks a rule of the validators (D5, D7).
  WRAPPER_INVALID: "BROADCAST_FAILED",
  WRAPPER_INVALID_SIGNATURE: "BROADCAST_FAILED",
  WRAPPER_WRONG_CHAIN_ID: "BROADCAST_FAILED",
  WAIVER_NOT_REGISTERED: "BROADCAST_FAILED",
  WRAPPER_NON_ZERO_GAS_PRICE: "BROADCAST_FAILED",
  WRAPPER_NON_ZERO_VALUE: "BROADCAST_FAILED",
  WRAPPER_NONCE_TOO_LOW: "BROADCAST_FAILED",
  WRAPPER_NONCE_GAP: "BROADCAST_FAILED",
  WRAPPER_GAS_LIMIT_TOO_LOW: "BROADCAST_FAILED",

  // The broadcast failed, or its outcome is not known in time (D16, D17).
  NODE_REFUSED: "BROADCAST_FAILED",
  REVERTED: "BROADCAST_FAILED",
  NOT_BROADCAST: "TIMEOUT",
  NOT_INCLUDED: "TIMEOUT",
  OUTCOME_UNKNOWN: "TIMEOUT",

  // A WebSocket asked to watch an unknown submission (D23).
  UNKNOWN_SUBMISSION: "INVALID_REQUEST",

  // The bytes on the connection are no request.
  MALFORMED_HTTP: "INVALID_REQUEST",
  HEAD_TOO_LARGE: "INVALID_REQUEST",
  REQUEST_TOO_SLOW: "INVALID_REQUEST",

  // The request was refused whole (D21).
  MALFORMED_JSON: "INVALID_REQUEST",
  MALFORMED_BODY: "INVALID_REQUEST",
  MALFORMED_QUERY: "INVALID_REQUEST",
  EMPTY_BATCH: "INVALID_REQUEST",
  UNSUPPORTED_MEDIA_TYPE: "INVALID_REQUEST",
  BODY_TOO_LARGE: "INVALID_REQUEST",
  UPGRADE_REQUIRED: "INVALID_REQUEST",
  DUPLICATE_REQUEST_ID: "INVALID_REQUEST",
  INVALID_IDEMPOTENCY_KEY: "INVALID_REQUEST",
  IDEMPOTENCY_KEY_REUSED: "INVALID_REQUEST",
  BATCH_TOO_LARGE: "BATCH_SIZE_EXCEEDED",
  MISSING_KEY: "UNAUTHORIZED",
  UNKNOWN_KEY: "UNAUTHORIZED",
  KEY_EXPIRED: "UNAUTHORIZED",
  KEY_DISABLED: "UNAUTHORIZED",
  KEY_REVOKED: "UNAUTHORIZED",
  RATE_EXCEEDED: "RATE_LIMITED",
  QUEUE_AT_CAPACITY: "QUEUE_FULL",
  KEY_SHARE_EXHAUSTED: "QUEUE_FULL",
  CONNECTION_FULL: "QUEUE_FULL",
  SOCKETS_AT_CAPACITY: "QUEUE_FULL",
  BODIES_AT_CAPACITY: "QUEUE_FULL",
  STORE_UNAVAILABLE: "UNAVAILABLE",
  CHAIN_UNAVAILABLE: "UNAVAILABLE",
  SHUTTING_DOWN: "UNAVAILABLE",
  INTERNAL_ERROR: "UNAVAILABLE",
  NO_SUCH_PATH: "NOT_FOUND",
  NO_SUCH_METHOD: "NOT_FOUND",
  NO_SUCH_SUBMISSION: "NOT_FOUND",

  // An operator's request to the admin API was refused (D25).
  INVALID_KEY_TERMS: "INVALID_REQUEST",
  KEY_STATE_FINAL: "INVALID_REQUEST",
  NO_SUCH_KEY: "NOT_FOUND",
} as const satisfies Record<string, ErrorCode>;

export type Reason = keyof typeof REASONS;

/**
 * Tells whether a code can be that of a result line.
 * @example
 * ```ts
 * console.log(isLineCode("TIMEOUT"), isLineCode("UNAUTHORIZED")); // true false
 * ```
 */
export function isLineCode(code: string): code is LineCode {
  return LINE_CODES.some((known) => known === code);
}

/**
 * Returns the code that a reason belongs to (D13).
 * @example
 * ```ts
 * console.log(codeOf("NONCE_GAP")); // "VALIDATION_FAILED"
 * ```
 */
export function codeOf(reason: Reason): ErrorCode {
  return REASONS[reason];
}

/**
 * Tells whether a name is one of the reasons that this version knows. A newer service may send others (D26).
 * @example
 * ```ts
 * const { reason } = error;
 * if (reason !== undefined && isReason(reason)) console.log(codeOf(reason));
 * ```
 */
export function isReason(name: string): name is Reason {
  return Object.hasOwn(REASONS, name);
}
