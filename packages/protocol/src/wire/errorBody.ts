import { define } from "../define.js";
import type { ProtocolError } from "../protocolError.js";
import { readDetails } from "../reasons/detailNames.js";
import { type DetailsOf, detailValuesOf } from "../reasons/details.js";
import {
  type ErrorCode,
  isLineCode,
  LINE_CODES,
  type LineCode,
  REQUEST_ONLY_CODES,
  type Reason,
  type Retry,
  retryOf,
} from "../reasons/index.js";
import { EMPTY_BATCH_SAMPLE, GAS_PRICE_SAMPLE } from "./samples.js";
import { defineNamedSchemas, objectSchema, type Schema } from "./schema.js";
import { fits, type Members } from "./shape.js";
import { membersOf } from "./values.js";
import { WireError } from "./wireError.js";

/** An error as `{ code, message, reason?, details? }`: in a result line (D13) and in a request refused as a whole (D21). */
export interface ErrorBody<Code extends string = ErrorCode> {
  readonly code: Code;
  readonly message: string;
  /** The stable name of the rule that failed. A newer service may know more reasons than this library (D26). */
  readonly reason?: Reason | (string & {});
  /** The values involved. Their types follow from the reason: read them with {@link detailsOf}. */
  readonly details?: ErrorDetails;
}

/** The details of any error (D13). A newer service may have more values than this library knows (D26). */
export interface ErrorDetails {
  /** Whether it helps to send the very same thing again: `corrected` (only when corrected), `later` or `now`. */
  readonly retry?: string;
  readonly [name: string]: unknown;
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
 * // { code: "INVALID_REQUEST", message: "`transactions` is empty", reason: "EMPTY_BATCH", details: { retry: "corrected" } }
 * ```
 */
export function errorBodyOf({ code, message, reason, values }: ProtocolError): ErrorBody {
  const details = { retry: retryOf(reason), ...detailValuesOf(reason, values) };
  return { code, message, reason, details };
}

/** Returns an error with its members in the order of the protocol, and without others. */
export function orderedErrorBody<Code extends string>(error: ErrorBody<Code>): object {
  const { code, message, reason, details } = error;
  return { code, message, reason, details };
}

/**
 * Returns the details of an error of this reason, typed. Values that are missing, or not of their type, are left out.
 * @returns undefined if the error has another reason.
 * @example
 * ```ts
 * const missing = detailsOf(error, "NONCE_GAP")?.missing; // decimal text, or undefined
 * ```
 */
export function detailsOf<R extends Reason>(
  {
    reason,
    details = {},
  }: { readonly reason?: string | undefined; readonly details?: ErrorDetails | undefined },
  expected: R,
): DetailsOf<R> | undefined {
  if (reason !== expected) return undefined;
  const retry = RETRIES.find((known) => known === details.retry);
  return { ...(retry && { retry }), ...readDetails(Object.keys(details), details) } as DetailsOf<R>;
}

const RETRIES: readonly Retry[] = ["corrected", "later", "now"];

const ERROR = {
  code: "text",
  message: "text",
  reason: "text?",
  details: ["optional", { retry: "text?" }],
} as const satisfies Members;

/**
 * Reads an error body. A code that this library does not know is refused; an unknown reason is kept.
 * @throws {@link WireError} if the value is not an error body.
 * @example
 * ```ts
 * parseErrorBody({ code: "TIMEOUT", message: "the wait for the block timed out", reason: "NOT_INCLUDED" });
 * ```
 */
export function parseErrorBody(value: unknown): ErrorBody {
  if (!fits(ERROR, value) || !CODES.has(value.code)) {
    throw new WireError("the error is not { code, message, reason?, details? } with a known code", value);
  }
  const { code, message, reason, details } = value;
  return {
    code: code as ErrorCode,
    message,
    ...(reason !== undefined && { reason }),
    ...(details && { details }),
  };
}

/**
 * As {@link parseErrorBody}, for the error of a line.
 * @throws {@link WireError} with the problem and the line, if no line can have the code.
 */
export function parseLineError(value: unknown, problem = "", line = value): ErrorBody<LineCode> {
  const error = parseErrorBody(value);
  const { code } = error;
  if (isLineCode(code)) return { ...error, code };
  throw new WireError(problem, line);
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
  const body = membersOf(value);
  if (!("error" in body) || "jsonrpc" in body) throw new WireError("the answer has no error object", value);
  return { error: parseErrorBody(body.error) };
}

/** The schema of an error with one of the codes. */
function errorSchema(codes: readonly string[], description: string): Schema {
  return objectSchema({ ...ERROR, code: ["enum", codes] }, description, {
    message: "The failure in a sentence for people, with the values involved. It may change.",
    reason: {
      type: "string",
      pattern: "^[A-Z][A-Z0-9_]*$",
      description: "The stable name of the rule that failed. Newer services may know more of them (D26).",
    },
    details: {
      type: "object",
      additionalProperties: true,
      description:
        "The values involved, by names that follow from the reason: the reference of the errors lists them (D13). All are optional, and newer services may have more (D26).",
      properties: {
        retry: {
          type: "string",
          description:
            "Whether it helps to send the very same thing again: `corrected` (only when corrected), `later` or `now`.",
        },
      },
    },
  });
}

export const ERROR_SCHEMA = /* @__PURE__ */ define(() =>
  errorSchema(
    [...LINE_CODES, ...REQUEST_ONLY_CODES],
    "An error: its kind, a sentence, and the rule that failed (D13, D21).",
  ),
);

export const LINE_ERROR_SCHEMA = /* @__PURE__ */ define(() =>
  errorSchema(LINE_CODES, "The error of one transaction (D13)."),
);

export const REQUEST_ERROR_SCHEMA = /* @__PURE__ */ define(() =>
  objectSchema({ error: parseErrorBody }, "The body of a response to a request refused as a whole (D21).", {
    error: ERROR_SCHEMA,
  }),
);

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
