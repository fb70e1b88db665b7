import { define } from "../define.js";
import type { ProtocolError } from "../protocolError.js";
import {
  type ErrorCode,
  LINE_CODES,
  type LineCode,
  REQUEST_ONLY_CODES,
  type Reason,
} from "../reasons/index.js";
import { defineNamedSchemas, defineSchema } from "./schema.js";
import { WireError } from "./wireError.js";

/** An error as `{ code, message, reason? }`: in a result line (D13) and in a request refused as a whole (D21). */
export interface ErrorBody<Code extends string = ErrorCode> {
  readonly code: Code;
  readonly message: string;
  /** The stable name of the rule that failed. A newer service may know more reasons than this library (D26). */
  readonly reason?: Reason | (string & {});
}

/** The whole body of a request refused as a whole: `{ "error": { … } }` (D21). */
export interface RequestErrorBody {
  readonly error: ErrorBody;
}

const CODES: ReadonlySet<string> = /* @__PURE__ */ define(
  () => new Set([...LINE_CODES, ...REQUEST_ONLY_CODES]),
);

/**
 * Returns the body of an error, with its members in the order of the protocol.
 * @example
 * ```ts
 * errorBodyOf(new ProtocolError("EMPTY_BATCH", "`transactions` is empty"));
 * // { code: "INVALID_REQUEST", message: "`transactions` is empty", reason: "EMPTY_BATCH" }
 * ```
 */
export function errorBodyOf(error: ProtocolError): ErrorBody {
  return { code: error.code, message: error.message, reason: error.reason };
}

/**
 * Reads an error body. A code that this library does not know is refused; an unknown reason is kept.
 * @throws {@link WireError} if the value is not an error body.
 * @example
 * ```ts
 * parseErrorBody({ code: "TIMEOUT", message: "the wait for the block timed out", reason: "NOT_INCLUDED" });
 * ```
 */
export function parseErrorBody(value: unknown): ErrorBody {
  if (typeof value === "object" && value !== null) {
    const { code, message, reason } = value as Record<string, unknown>;
    const isKnown = typeof code === "string" && CODES.has(code);
    if (isKnown && typeof message === "string" && (reason === undefined || typeof reason === "string")) {
      return { code: code as ErrorCode, message, ...(reason !== undefined && { reason }) };
    }
  }
  throw new WireError("the error is not { code, message, reason? } with a known code", value);
}

/**
 * Returns the body of a response to a request refused as a whole (D21).
 * @example
 * ```ts
 * requestErrorBody(new ProtocolError("EMPTY_BATCH", "`transactions` is empty")); // { error: { … } }
 * ```
 */
export function requestErrorBody(error: ProtocolError): RequestErrorBody {
  return { error: errorBodyOf(error) };
}

/**
 * Reads the body of a response to a request refused as a whole (D21).
 * @throws {@link WireError} if the value is not such a body.
 * @example
 * ```ts
 * const { error } = parseRequestErrorBody(await response.json());
 * console.error(error.code, error.reason, error.message);
 * ```
 */
export function parseRequestErrorBody(value: unknown): RequestErrorBody {
  if (typeof value !== "object" || value === null || !("error" in value)) {
    throw new WireError("the answer has no error object", value);
  }
  return { error: parseErrorBody(value.error) };
}

const MESSAGE = /* @__PURE__ */ defineSchema(() => ({
  type: "string",
  description: "The failure in a sentence for people, with the values involved. It may change.",
}));

const REASON = /* @__PURE__ */ defineSchema(() => ({
  type: "string",
  pattern: "^[A-Z][A-Z0-9_]*$",
  description: "The stable name of the rule that failed. Newer services may know more of them (D26).",
}));

export const ERROR_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "An error: its kind, a sentence, and the rule that failed (D13, D21).",
  properties: {
    code: { type: "string", enum: [...LINE_CODES, ...REQUEST_ONLY_CODES] },
    message: MESSAGE,
    reason: REASON,
  },
  required: ["code", "message"],
}));

export const LINE_ERROR_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "The error of one transaction (D13).",
  properties: { code: { type: "string", enum: LINE_CODES }, message: MESSAGE, reason: REASON },
  required: ["code", "message"],
}));

export const REQUEST_ERROR_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "The body of a response to a request refused as a whole (D21).",
  properties: { error: ERROR_SCHEMA },
  required: ["error"],
}));

export const EMPTY_BATCH_SAMPLE = {
  code: "INVALID_REQUEST",
  message: "`transactions` is empty",
  reason: "EMPTY_BATCH",
} as const satisfies ErrorBody;

export const GAS_PRICE_SAMPLE = {
  code: "VALIDATION_FAILED",
  message: "the gas price is 1000000000, not 0",
  reason: "NON_ZERO_GAS_PRICE",
} as const satisfies ErrorBody<LineCode>;

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  Error: { schema: ERROR_SCHEMA, examples: [EMPTY_BATCH_SAMPLE], read: parseErrorBody },
  LineError: {
    schema: LINE_ERROR_SCHEMA,
    examples: [GAS_PRICE_SAMPLE],
    read: parseErrorBody as (value: unknown) => ErrorBody<LineCode>,
  },
  RequestError: {
    schema: REQUEST_ERROR_SCHEMA,
    examples: [{ error: EMPTY_BATCH_SAMPLE }],
    read: parseRequestErrorBody,
  },
}));
