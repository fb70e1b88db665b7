import { WAITS } from "../submit.js";
import { LINE_ERROR_SCHEMA } from "./errorBody.js";
import type { Schema } from "./Schema.js";
import { SUBMISSION_ID, TX_HASH } from "./values.js";

export const TRANSACTIONS = {
  type: "array",
  items: { type: "string" },
  minItems: 1,
  description:
    "Each is the 0x-prefixed hex of one signed InnerTx. What is inside a string is for its own line: one that is no hex fails alone.",
} as const satisfies Schema;

export const WAIT_SCHEMA = {
  type: "string",
  enum: WAITS,
  description:
    "When a line counts as known: when the node has taken the wrapper, or when the InnerTx is in a block (D16).",
} as const satisfies Schema;

export const SUBMIT_REQUEST_SCHEMA = {
  type: "object",
  description: "A batch of signed InnerTxs; by default at most 100 (D22).",
  properties: { transactions: TRANSACTIONS },
  required: ["transactions"],
} as const satisfies Schema;

const INDEX = {
  type: "integer",
  minimum: 0,
  description: "The position in the request's `transactions`, or in `watch`.",
} as const satisfies Schema;

/** The members of a line, which a frame has behind its `request`. */
export const SUCCESS = {
  index: INDEX,
  id: SUBMISSION_ID,
  success: { type: "boolean", const: true },
  txHash: TX_HASH,
} as const satisfies Record<string, Schema>;

export const FAILURE = {
  index: INDEX,
  id: SUBMISSION_ID,
  success: { type: "boolean", const: false },
  error: LINE_ERROR_SCHEMA,
} as const satisfies Record<string, Schema>;

export const RESULT_LINE_SCHEMA = {
  description: "One line of the streamed answer: what became of one transaction (D13).",
  oneOf: [
    { type: "object", properties: SUCCESS, required: ["index", "id", "success", "txHash"] },
    { type: "object", properties: FAILURE, required: ["index", "id", "success", "error"] },
  ],
} as const satisfies Schema;
