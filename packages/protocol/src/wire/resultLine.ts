import { define } from "../define.js";
import { isLineCode, type LineCode } from "../reasons/index.js";
import {
  type ErrorBody,
  GAS_PRICE_SAMPLE,
  LINE_ERROR_SCHEMA,
  orderedErrorBody,
  parseErrorBody,
} from "./errorBody.js";
import { ID_SAMPLE, TX_HASH_SAMPLE } from "./samples.js";
import { defineNamedSchemas, defineSchema } from "./schema.js";
import { COUNT, isCount, isHash, isText, membersOf, SUBMISSION_ID, TX_HASH } from "./values.js";
import { WireError } from "./wireError.js";

/** One line of the streamed response of a submit (docs/protocol.md#result-line, D13), with exactly its members. */
export type ResultLine =
  | {
      /** The position in the request's `transactions`. */
      readonly index: number;
      /** The id of the submission, a UUIDv7 (D15). */
      readonly id: string;
      readonly success: true;
      /** The InnerTx's hash (D6), as 0x-prefixed hex. */
      readonly txHash: string;
    }
  | {
      readonly index: number;
      readonly id: string;
      readonly success: false;
      readonly error: ErrorBody<LineCode>;
    };

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
  const { index, id, success, txHash, error } = membersOf(value);
  if (isCount(index) && isText(id)) {
    if (success === true && isHash(txHash)) return { index, id, success, txHash };
    if (success === false) {
      const body = parseErrorBody(error);
      if (isLineCode(body.code)) return { index, id, success, error: { ...body, code: body.code } };
    }
  }
  throw new WireError("the line is not a submission result", value);
}

const INDEX = /* @__PURE__ */ defineSchema(() => ({
  ...COUNT,
  description: "The position in the request's `transactions`, or in `watch`.",
}));

/** The members of a line of success. A frame has them behind its `request`. */
export const SUCCESS_MEMBERS = /* @__PURE__ */ define(() => ({
  index: INDEX,
  id: SUBMISSION_ID,
  success: { type: "boolean", const: true },
  txHash: TX_HASH,
}));

/** The members of a line of failure. A frame has them behind its `request`. */
export const FAILURE_MEMBERS = /* @__PURE__ */ define(() => ({
  index: INDEX,
  id: SUBMISSION_ID,
  success: { type: "boolean", const: false },
  error: LINE_ERROR_SCHEMA,
}));

export const RESULT_LINE_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  description: "One line of the streamed response: the result of one transaction (D13).",
  oneOf: [
    { type: "object", properties: SUCCESS_MEMBERS, required: ["index", "id", "success", "txHash"] },
    { type: "object", properties: FAILURE_MEMBERS, required: ["index", "id", "success", "error"] },
  ],
}));

export const SUCCESS_SAMPLE = {
  index: 0,
  id: ID_SAMPLE,
  success: true,
  txHash: TX_HASH_SAMPLE,
} as const satisfies ResultLine;

export const FAILURE_SAMPLE = {
  index: 1,
  id: "019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a72",
  success: false,
  error: GAS_PRICE_SAMPLE,
} as const satisfies ResultLine;

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  ResultLine: {
    schema: RESULT_LINE_SCHEMA,
    examples: [SUCCESS_SAMPLE, FAILURE_SAMPLE],
    read: parseResultLine,
    write: encodeResultLine,
  },
}));
