import { ProtocolError } from "../protocolError.js";
import type { Reason } from "../reasons/index.js";
import {
  EMPTY_BATCH_SAMPLE,
  ERROR_SCHEMA,
  type ErrorBody,
  errorBodyOf,
  parseErrorBody,
} from "./errorBody.js";
import { isRequestName, MAX_REQUEST_ID_LENGTH, type RequestId } from "./requestId.js";
import {
  encodeResultLine,
  FAILURE_MEMBERS,
  FAILURE_SAMPLE,
  parseResultLine,
  type ResultLine,
  SUCCESS_MEMBERS,
  SUCCESS_SAMPLE,
} from "./resultLine.js";
import { defineNamedSchemas, defineSchema } from "./schema.js";
import { SUBMISSION_ID } from "./values.js";
import { WireError } from "./wireError.js";

/**
 * A WebSocket frame that the service sends (D23). The `index` of a line is the position in the request's `transactions`
 * or `watch`; the `request` of a request without an id is null.
 */
export type ServerFrame =
  | { readonly kind: "line"; readonly request: RequestId | null; readonly line: ResultLine }
  | { readonly kind: "done"; readonly request: RequestId | null }
  /** The request is refused as a whole; null if its frame has no id. The connection stays open. */
  | { readonly kind: "error"; readonly request: RequestId | null; readonly error: ErrorBody };

/**
 * Writes a result line as a frame: `request`, followed by the line's members.
 * @example
 * ```ts
 * encodeLineFrame(1, line); // {"request":1,"index":0,"id":"…","success":true,"txHash":"0x…"}
 * ```
 */
export function encodeLineFrame(request: RequestId | null, line: ResultLine): string {
  return `{"request":${JSON.stringify(request)},${encodeResultLine(line).slice(1)}`;
}

/**
 * Writes the frame that ends the answer to a request.
 * @example
 * ```ts
 * encodeDoneFrame(1); // {"request":1,"done":true}
 * ```
 */
export function encodeDoneFrame(request: RequestId | null): string {
  return JSON.stringify({ request, done: true });
}

/**
 * Writes the frame that refuses a request as a whole.
 * @param request the id of the request, or null if its frame has none.
 * @example
 * ```ts
 * encodeErrorFrame(1, new ProtocolError("EMPTY_BATCH", "`transactions` is empty"));
 * ```
 */
export function encodeErrorFrame(request: RequestId | null, error: ProtocolError): string {
  return JSON.stringify({ request, error: errorBodyOf(error) });
}

/**
 * Reads a WebSocket frame that the service sent.
 * @throws {@link WireError} if the text is not such a frame.
 * @example
 * ```ts
 * const frame = parseServerFrame(text);
 * if (frame.kind === "line" && frame.line.success) console.log(frame.line.txHash);
 * ```
 */
export function parseServerFrame(text: string): ServerFrame {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new WireError("the frame is not JSON", text.slice(0, 200));
  }
  const frame = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const { request } = frame;
  // The line of a failed transaction has an error too; its index tells it apart.
  if ("error" in frame && !("index" in frame) && isRequestName(request)) {
    return { kind: "error", request, error: parseErrorBody(frame.error) };
  }
  if (isRequestName(request)) {
    if (frame.done === true) return { kind: "done", request };
    return { kind: "line", request, line: parseResultLine(value) };
  }
  throw new WireError("the frame names no request", value);
}

const REQUEST = /* @__PURE__ */ defineSchema(() => ({
  type: ["string", "number", "null"],
  maxLength: MAX_REQUEST_ID_LENGTH,
  description: "The `id` of the request that the frame belongs to; null if it has none.",
}));

export const LINE_FRAME_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  description:
    "Service to client: the id of a request, followed by the members of one of its result lines (D23).",
  oneOf: [
    {
      type: "object",
      properties: { request: REQUEST, ...SUCCESS_MEMBERS },
      required: ["request", "index", "id", "success", "txHash"],
    },
    {
      type: "object",
      properties: {
        request: REQUEST,
        ...FAILURE_MEMBERS,
        // The line of a `watch` repeats the id that was asked for, even if it is not a UUID.
        id: { type: "string", description: SUBMISSION_ID.description },
      },
      required: ["request", "index", "id", "success", "error"],
    },
  ],
}));

export const DONE_FRAME_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "Service to client: every line of the request has been sent (D23).",
  properties: { request: REQUEST, done: { type: "boolean", const: true } },
  required: ["request", "done"],
}));

export const ERROR_FRAME_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "Service to client: the request is refused as a whole, and the connection stays open (D23).",
  properties: {
    request: {
      type: ["string", "number", "null"],
      maxLength: MAX_REQUEST_ID_LENGTH,
      description: "The `id` of the request. Null if its frame has none, or the id of a request in flight.",
    },
    error: ERROR_SCHEMA,
  },
  required: ["request", "error"],
  // The line of a failed transaction has an error too; its index tells it apart.
  not: { required: ["index"] },
}));

const readFrame = (value: unknown): ServerFrame => parseServerFrame(JSON.stringify(value));

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  LineFrame: {
    schema: LINE_FRAME_SCHEMA,
    examples: [
      { request: 1, ...SUCCESS_SAMPLE },
      { request: 1, ...FAILURE_SAMPLE },
    ],
    read: readFrame,
    write: ({ request, ...line }: { readonly request: RequestId | null } & ResultLine) =>
      encodeLineFrame(request, line),
  },
  DoneFrame: {
    schema: DONE_FRAME_SCHEMA,
    examples: [
      { request: 1, done: true },
      { request: null, done: true },
    ],
    read: readFrame,
    write: ({ request }: { readonly request: RequestId | null }) => encodeDoneFrame(request),
  },
  ErrorFrame: {
    schema: ERROR_FRAME_SCHEMA,
    examples: [{ request: null, error: EMPTY_BATCH_SAMPLE }],
    read: readFrame,
    write: ({ request, error }: { readonly request: RequestId | null; readonly error: ErrorBody }) =>
      encodeErrorFrame(request, new ProtocolError(error.reason as Reason, error.message)),
  },
}));
