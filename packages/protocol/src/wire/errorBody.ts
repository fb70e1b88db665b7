import type { ProtocolError } from "../protocolError.js";
import { codeOf, type ErrorCode, LINE_CODES, REQUEST_ONLY_CODES, type Reason } from "../reasons.js";
import { WireError } from "./WireError.js";

export { isReason } from "../reasons.js";

/** `{ code, message, reason? }` (D13): in a result line, and in a request refused whole (D21). */
export interface ErrorBody<Code extends string = ErrorCode> {
  readonly code: Code;
  readonly message: string;
  /** The stable name of the rule that failed. A newer service may know more reasons than this library (D26). */
  readonly reason?: Reason | (string & {});
}

const CODES: ReadonlySet<string> = new Set([...LINE_CODES, ...REQUEST_ONLY_CODES]);

/** The body of an error, in the document's order. */
export function errorBodyOf(error: ProtocolError): ErrorBody {
  return { code: error.code, message: error.message, reason: error.reason };
}

/** @throws {@link WireError} if the value is not an error body of a known code. */
export function parseErrorBody(value: unknown): ErrorBody {
  if (typeof value === "object" && value !== null) {
    const { code, message, reason } = value as Record<string, unknown>;
    const known = typeof code === "string" && CODES.has(code);
    if (known && typeof message === "string" && (reason === undefined || typeof reason === "string")) {
      return { code: code as ErrorCode, message, ...(reason !== undefined && { reason }) };
    }
  }
  throw new WireError("the error is not { code, message, reason? } with a known code", value);
}

/** The HTTP status of a request refused whole, where the reason decides it (D21). */
const STATUS_OF_REASON: Partial<Record<Reason, number>> = {
  REQUEST_TOO_SLOW: 408,
  UNSUPPORTED_MEDIA_TYPE: 415,
  BODY_TOO_LARGE: 413,
  UPGRADE_REQUIRED: 426,
  HEAD_TOO_LARGE: 431,
  // As the header's own specification has it (draft-ietf-httpapi-idempotency-key-header).
  IDEMPOTENCY_KEY_REUSED: 422,
  NO_SUCH_METHOD: 405,
  KEY_STATE_FINAL: 409,
  INTERNAL_ERROR: 500,
};

const STATUS_OF_CODE: Record<ErrorCode, number> = {
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

/** The HTTP status of a request refused whole (D21). */
export function statusOf(reason: Reason): number {
  return STATUS_OF_REASON[reason] ?? STATUS_OF_CODE[codeOf(reason)];
}

/** The whole body of a request refused whole: `{ "error": { … } }` (D21). */
export interface RequestErrorBody {
  readonly error: ErrorBody;
}

export function requestErrorBody(error: ProtocolError): RequestErrorBody {
  return { error: errorBodyOf(error) };
}

/** @throws {@link WireError} if the value is not the body of a refused request. */
export function parseRequestErrorBody(value: unknown): RequestErrorBody {
  if (typeof value !== "object" || value === null || !("error" in value)) {
    throw new WireError("the answer has no error object", value);
  }
  return { error: parseErrorBody(value.error) };
}
