import { describeValue } from "../describeValue.js";
import { ProtocolError } from "../protocolError.js";
import { assertFewValues } from "./boundedJson.js";
import { type ErrorBody, errorBodyOf, parseErrorBody } from "./errorBody.js";
import type { ResultLine, Wait } from "./submit.js";
import { encodeResultLine, parseResultLine, parseSubmitRequest, parseWait } from "./submit.js";
import { WireError } from "./WireError.js";

/** What a client calls a request, to know its answers by; its own choice. */
export type RequestId = string | number;

/** Client to service: submit these, 0x-prefixed hex of signed InnerTxs (D23). */
export interface SubmitFrame {
  readonly id: RequestId;
  readonly transactions: readonly string[];
  readonly wait?: Wait;
}

/** Client to service: give the lines of these earlier submissions (D23). */
export interface WatchFrame {
  readonly id: RequestId;
  readonly watch: readonly string[];
  readonly wait?: Wait;
}

export type ClientFrame = SubmitFrame | WatchFrame;

/** Service to client (D23). `index` of a line is the position in the request's `transactions` or `watch`. */
export type ServerFrame =
  | { readonly kind: "line"; readonly request: RequestId; readonly line: ResultLine }
  | { readonly kind: "done"; readonly request: RequestId }
  /** The request was refused whole; `null` if the frame did not say which it is. The connection stays. */
  | { readonly kind: "error"; readonly request: RequestId | null; readonly error: ErrorBody };

/** The close codes that the service sends (D23), by their names in the IANA registry. */
export const CLOSE_CODES = {
  /** The API key is no longer good, or the client misused the connection. The close reason says which. */
  policyViolation: 1008,
  /** The frame is larger than a request's body may be (D22). */
  messageTooBig: 1009,
  /** The service is shutting down. Another replica, or the restarted one, takes the connection. */
  serviceRestart: 1012,
  /** The service has no memory to spare for the frame. */
  tryAgainLater: 1013,
} as const;

/** The longest id of a request: it is repeated with every line. */
const MAX_ID_LENGTH = 256;

export function encodeClientFrame(frame: ClientFrame): string {
  return JSON.stringify(frame);
}

export interface ReceivedFrame {
  /** Null if the frame does not say what it is called. */
  readonly request: RequestId | null;
  /** @throws ProtocolError if this request is refused whole. */
  parse(maxBatchSize: number): ClientFrame;
}

/** Reads a client's frame in two steps, because an answer to one that is wrong needs its name. Never throws. */
export function readClientFrame(text: string): ReceivedFrame {
  let value: unknown;
  try {
    assertFewValues(text);
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof ProtocolError) return refused("MALFORMED_BODY", error.message);
    return refused("MALFORMED_JSON", "the frame is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refused(
      "MALFORMED_BODY",
      'the frame is not a JSON object of the form {"id": 1, "transactions": [ … ]}',
    );
  }
  const frame = value;
  const id = own(frame, "id");
  if (!isRequestId(id)) {
    const rule = `a finite number or a text of at most ${MAX_ID_LENGTH} characters`;
    return refused("MALFORMED_BODY", `\`id\` is ${describeValue(id)}; it must be ${rule}`);
  }
  return { request: id, parse: (maxBatchSize) => parseClientFrame(id, frame, maxBatchSize) };
}

function refused(reason: "MALFORMED_JSON" | "MALFORMED_BODY", message: string): ReceivedFrame {
  return {
    request: null,
    parse() {
      throw new ProtocolError(reason, message);
    },
  };
}

function parseClientFrame(id: RequestId, frame: object, maxBatchSize: number): ClientFrame {
  const watch = own(frame, "watch");
  const wait = own(frame, "wait");
  const waits = wait === undefined ? {} : { wait: parseWait(wait) };
  if (watch === undefined) return { id, ...parseSubmitRequest(frame, maxBatchSize), ...waits };
  if (own(frame, "transactions") !== undefined) {
    throw new ProtocolError("MALFORMED_BODY", "the frame has both `transactions` and `watch`");
  }
  return { id, watch: parseWatch(watch, maxBatchSize), ...waits };
}

/** An empty list is allowed: it asks for nothing but a sign of life. */
function parseWatch(watch: unknown, maxBatchSize: number): readonly string[] {
  if (!Array.isArray(watch)) {
    throw new ProtocolError("MALFORMED_BODY", `\`watch\` is ${describeValue(watch)}, not an array`);
  }
  if (watch.length > maxBatchSize) {
    const message = `\`watch\` has ${watch.length} ids; at most ${maxBatchSize} are taken at once`;
    throw new ProtocolError("BATCH_TOO_LARGE", message, { ids: watch.length, maxBatchSize });
  }
  const strange = watch.findIndex((element) => typeof element !== "string");
  if (strange >= 0) {
    const message = `watch[${strange}] is ${describeValue(watch[strange])}, not a string`;
    throw new ProtocolError("MALFORMED_BODY", message, { index: strange });
  }
  return watch;
}

/** A result line with `"request"` in front. */
export function encodeLineFrame(request: RequestId, line: ResultLine): string {
  return `{"request":${JSON.stringify(request)},${encodeResultLine(line).slice(1)}`;
}

export function encodeDoneFrame(request: RequestId): string {
  return JSON.stringify({ request, done: true });
}

export function encodeErrorFrame(request: RequestId | null, error: ProtocolError): string {
  return JSON.stringify({ request, error: errorBodyOf(error) });
}

/** @throws {@link WireError} if the text is no frame of a gas-waiver service. */
export function parseServerFrame(text: string): ServerFrame {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new WireError("the frame is not JSON", text.slice(0, 200));
  }
  const frame = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const { request } = frame;
  // A line of a failed transaction has an error too, and is known by its index.
  if ("error" in frame && !("index" in frame) && (request === null || isRequestId(request))) {
    return { kind: "error", request, error: parseErrorBody(frame.error) };
  }
  if (isRequestId(request)) {
    if (frame.done === true) return { kind: "done", request };
    return { kind: "line", request, line: parseResultLine(value) };
  }
  throw new WireError("the frame names no request", value);
}

function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" ? value.length <= MAX_ID_LENGTH : Number.isFinite(value);
}

function own(object: object, name: string): unknown {
  return Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : undefined;
}
