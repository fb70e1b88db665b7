import { define } from "../define.js";
import { LINE_ERROR_SCHEMA, orderedErrorBody, parseLineError } from "./errorBody.js";
import { FAILURE_SAMPLE, SUCCESS_SAMPLE } from "./samples.js";
import { defineNamedSchemas, objectSchema, type Schema } from "./schema.js";
import { fits, type Members, type TypeOf } from "./shape.js";
import { isHash, membersOf } from "./values.js";
import { WireError } from "./wireError.js";

/** The content type of a streamed response: one JSON value a line. */
export const NDJSON = "application/x-ndjson";

/** The members of a line of success. A frame has them behind its `request`. */
export const SUCCESS_LINE = {
  /** The position in the request's `transactions`. */
  index: "count",
  /** The id of the submission, a UUIDv7 (D15). */
  id: "submissionId",
  success: ["const", true],
  /** The InnerTx's hash (D6), as 0x-prefixed hex. */
  txHash: "txHash",
} as const satisfies Members;

/** The members of a line of failure. A frame has them behind its `request`. */
export const FAILURE_LINE = {
  index: "count",
  id: "submissionId",
  success: ["const", false],
  error: parseLineError,
} as const satisfies Members;

/** The line of a transaction that the node accepted, or that is in a block. */
interface SuccessLine extends TypeOf<typeof SUCCESS_LINE> {}

/** The line of a transaction that failed. */
interface FailureLine extends TypeOf<typeof FAILURE_LINE> {}

/** One line of the streamed response of a submit (docs/protocol.md#result-line, D13), with exactly its members. */
export type ResultLine = SuccessLine | FailureLine;

/**
 * Writes a result line as JSON text without a newline, with its members in the order of the protocol.
 * @example
 * ```ts
 * encodeResultLine(line); // {"index":0,"id":"…","success":true,"txHash":"0x…"}
 * ```
 */
export function encodeResultLine(line: ResultLine): string {
  const { index, id } = line;
  if (line.success) return JSON.stringify({ index, id, success: true, txHash: line.txHash });
  return JSON.stringify({ index, id, success: false, error: orderedErrorBody(line.error) });
}

/**
 * Reads a result line. Members that this library does not know are left out.
 * @throws {@link WireError} if the value is not a result line.
 * @example
 * ```ts
 * const line = parseResultLine(JSON.parse(text));
 * if (line.success) console.log(line.txHash);
 * ```
 */
export function parseResultLine(value: unknown): ResultLine {
  const problem = "the line is not a submission result";
  const { error: cause, txHash: hash } = membersOf(value);
  if (cause === undefined && fits(SUCCESS_LINE, value) && isHash(hash)) {
    const { index, id, success, txHash } = value;
    return { index, id, success, txHash };
  }
  if (hash !== undefined || !fits(FAILURE_LINE, value)) throw new WireError(problem, value);
  const { index, id, success, error } = value;
  return { index, id, success, error: parseLineError(error, problem, value) };
}

/** The notes on the members of both lines. */
export const LINE_NOTES = { index: "The position in the request's `transactions`, or in `watch`." };

/** Makes the schemas of both lines of one, neither of which has what the other one tells. */
export const eitherLine = (success: Schema, failure: Schema): readonly Schema[] => [
  { ...success, not: { required: ["error"] } },
  { ...failure, not: { required: ["txHash"] } },
];

export const RESULT_LINE_SCHEMA: Schema = /* @__PURE__ */ define(() => ({
  description: "One line of the streamed response: the result of one transaction (D13).",
  oneOf: eitherLine(
    objectSchema(SUCCESS_LINE, undefined, LINE_NOTES),
    objectSchema(FAILURE_LINE, undefined, { ...LINE_NOTES, error: LINE_ERROR_SCHEMA }),
  ),
}));

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  ResultLine: {
    schema: RESULT_LINE_SCHEMA,
    examples: [SUCCESS_SAMPLE, FAILURE_SAMPLE],
    read: parseResultLine,
    write: encodeResultLine,
  },
}));
