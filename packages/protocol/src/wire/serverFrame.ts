import { define } from "../define.js";
import { ProtocolError } from "../protocolError.js";
import type { Reason } from "../reasons/index.js";
import { ERROR_SCHEMA, type ErrorBody, errorBodyOf, LINE_ERROR_SCHEMA, parseErrorBody } from "./errorBody.js";
import {
  eitherLine,
  encodeResultLine,
  FAILURE_LINE,
  LINE_NOTES,
  parseResultLine,
  type ResultLine,
  SUCCESS_LINE,
} from "./resultLine.js";
import { EMPTY_BATCH_SAMPLE, FAILURE_SAMPLE, SUCCESS_SAMPLE } from "./samples.js";
import { defineNamedSchemas, objectSchema, type Schema, schemaOf } from "./schema.js";
import { isRequestName, membersOf, type RequestId } from "./values.js";
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
  const frame = membersOf(value);
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

export const LINE_FRAME_SCHEMA: Schema = /* @__PURE__ */ define(() => ({
  description:
    "Service to client: the id of a request, followed by the members of one of its result lines (D23).",
  oneOf: eitherLine(
    objectSchema({ request: "requestName", ...SUCCESS_LINE }, undefined, LINE_NOTES),
    objectSchema({ request: "requestName", ...FAILURE_LINE }, undefined, {
      ...LINE_NOTES,
      // The line of a `watch` repeats the id that was asked for, even if it is not a UUID.
      id: schemaOf("text", schemaOf("submissionId").description),
      error: LINE_ERROR_SCHEMA,
    }),
  ),
}));

export const DONE_FRAME_SCHEMA = /* @__PURE__ */ define(() =>
  objectSchema(
    { request: "requestName", done: ["const", true] },
    "Service to client: every line of the request has been sent (D23).",
  ),
);

export const ERROR_FRAME_SCHEMA: Schema = /* @__PURE__ */ define(() => ({
  ...objectSchema(
    { request: "requestName", error: parseErrorBody },
    "Service to client: the request is refused as a whole, and the connection stays open (D23).",
    {
      request: "The `id` of the request. Null if its frame has none, or the id of a request in flight.",
      error: ERROR_SCHEMA,
    },
  ),
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
