import { define } from "../define.js";
import { describeValue } from "../describeValue.js";
import { ProtocolError } from "../protocolError.js";
import { ID_SAMPLE, SIGNED_SAMPLE } from "./samples.js";
import { defineNamedSchemas, objectSchema } from "./schema.js";
import type { Members, TypeOf } from "./shape.js";
import { ownMember, parseSubmitRequest, readTexts, SUBMIT_NOTES, SUBMIT_REQUEST } from "./submitRequest.js";
import { isObject, isRequestId, MAX_REQUEST_ID_LENGTH, type RequestId } from "./values.js";
import { parseWait, WAIT_SCHEMA, WAITS } from "./wait.js";

const SUBMIT_FRAME = {
  /** Without it the answer's `request` is null, and no other such request may be in flight on the connection. */
  id: "requestId?",
  transactions: SUBMIT_REQUEST.transactions,
  wait: SUBMIT_REQUEST.wait,
} as const satisfies Members;

/** A frame that submits signed InnerTxs, as 0x-prefixed hex (D23). */
export interface SubmitFrame extends TypeOf<typeof SUBMIT_FRAME> {}

const WATCH_FRAME = {
  id: "requestId",
  watch: ["list", "text"],
  wait: ["optional", ["enum", WAITS]],
} as const satisfies Members;

/** A frame that asks for the lines of earlier submissions, by their ids or the hashes of their transactions (D23). */
export interface WatchFrame extends TypeOf<typeof WATCH_FRAME> {}

export type ClientFrame = SubmitFrame | WatchFrame;

/**
 * Writes a frame as JSON text.
 * @example
 * ```ts
 * webSocket.send(encodeClientFrame({ id: 1, transactions: [signedTransaction], wait: "included" }));
 * ```
 */
export function encodeClientFrame(frame: ClientFrame): string {
  return JSON.stringify(frame);
}

/** A client's frame of which only the id has been read. */
export interface ReceivedFrame {
  /** The id of the request, or null if the frame has none, or none that can be read. */
  readonly request: RequestId | null;
  /**
   * Reads the rest of the frame.
   * @param maxBatchSize the most transactions, or ids to watch, in one request (D22).
   * @throws {@link ProtocolError} if the request is refused as a whole.
   */
  parse(maxBatchSize: number): ClientFrame;
}

/**
 * Reads a client's frame from parsed JSON in two steps, because the refusal of an invalid frame must name its request. Never
 * throws.
 * @example
 * ```ts
 * const { request, parse } = readParsedFrame({ id: 1, transactions: [signedTransaction] });
 * try {
 *   const frame = parse(100);
 * } catch (error) {
 *   if (error instanceof ProtocolError) webSocket.send(encodeErrorFrame(request, error));
 * }
 * ```
 */
export function readParsedFrame(frame: unknown): ReceivedFrame {
  if (!isObject(frame)) {
    return refused('the frame is not a JSON object of the form {"id": 1, "transactions": [ … ]}');
  }
  const id = ownMember(frame, "id");
  if (id === undefined) {
    return { request: null, parse: (maxBatchSize) => parseAnonymousFrame(frame, maxBatchSize) };
  }
  if (!isRequestId(id)) {
    const rule = `a finite number or a text of at most ${MAX_REQUEST_ID_LENGTH} characters`;
    return refused(`\`id\` is ${describeValue(id)}; it must be ${rule}`);
  }
  return { request: id, parse: (maxBatchSize) => parseClientFrame(id, frame, maxBatchSize) };
}

function refused(message: string): ReceivedFrame {
  return {
    request: null,
    parse() {
      throw new ProtocolError("MALFORMED_BODY", message);
    },
  };
}

/** Reads a frame that is just the body of a POST. */
function parseAnonymousFrame(frame: object, maxBatchSize: number): ClientFrame {
  if (ownMember(frame, "watch") !== undefined) {
    throw new ProtocolError("MALFORMED_BODY", "the frame has `watch` and no `id`");
  }
  return parseSubmitRequest(frame, maxBatchSize);
}

const WATCHED = { name: "watch", whole: "`watch`", noun: "ids" } as const;

function parseClientFrame(id: RequestId, frame: object, maxBatchSize: number): ClientFrame {
  const watch = ownMember(frame, "watch");
  if (watch === undefined) return { id, ...parseSubmitRequest(frame, maxBatchSize) };
  const wait = ownMember(frame, "wait");
  const waitMember = wait === undefined ? {} : { wait: parseWait(wait) };
  if (ownMember(frame, "transactions") !== undefined) {
    throw new ProtocolError("MALFORMED_BODY", "the frame has both `transactions` and `watch`");
  }
  // The list may be empty: such a request is a sign of life and is done at once.
  return { id, watch: readTexts(watch, WATCHED, maxBatchSize), ...waitMember };
}

export const SUBMIT_FRAME_SCHEMA = /* @__PURE__ */ define(() =>
  objectSchema(
    SUBMIT_FRAME,
    "Client to service: submit these transactions (D23). Without an `id` it is the body of a POST, one at a time.",
    SUBMIT_NOTES,
  ),
);

export const WATCH_FRAME_SCHEMA = /* @__PURE__ */ define(() =>
  objectSchema(
    WATCH_FRAME,
    "Client to service: send the lines of these earlier submissions, and of these refused lines (D23).",
    {
      watch:
        "The ids of submissions, or the hashes of their transactions, which is what a publishable key names. An empty list is done at once, as a sign of life.",
      wait: WAIT_SCHEMA,
    },
  ),
);

const readFrame = (value: unknown): ClientFrame => readParsedFrame(value).parse(100);

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  SubmitFrame: {
    schema: SUBMIT_FRAME_SCHEMA,
    examples: [{ id: 1, transactions: [SIGNED_SAMPLE], wait: "included" }, { transactions: [SIGNED_SAMPLE] }],
    read: readFrame,
    write: encodeClientFrame,
  },
  WatchFrame: {
    schema: WATCH_FRAME_SCHEMA,
    examples: [{ id: "again", watch: [ID_SAMPLE], wait: "included" }],
    read: readFrame,
    write: encodeClientFrame,
  },
}));
