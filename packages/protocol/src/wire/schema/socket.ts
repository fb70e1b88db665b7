import { ERROR_SCHEMA } from "./errorBody.js";
import type { Schema } from "./Schema.js";
import { FAILURE, SUCCESS, TRANSACTIONS, WAIT_SCHEMA } from "./submit.js";
import { SUBMISSION_ID } from "./values.js";

const REQUEST_ID = {
  type: ["string", "number"],
  maxLength: 256,
  description: "What the client calls the request; no other under way on this connection has it.",
} as const satisfies Schema;

const REQUEST = {
  ...REQUEST_ID,
  description: "The `id` of the request that this belongs to.",
} as const satisfies Schema;

export const SUBMIT_FRAME_SCHEMA = {
  type: "object",
  description: "Client to service: submit these (D23).",
  properties: { id: REQUEST_ID, transactions: TRANSACTIONS, wait: WAIT_SCHEMA },
  required: ["id", "transactions"],
} as const satisfies Schema;

export const WATCH_FRAME_SCHEMA = {
  type: "object",
  description: "Client to service: give the lines of these earlier submissions (D23).",
  properties: {
    id: REQUEST_ID,
    watch: {
      type: "array",
      items: { type: "string" },
      description: "The ids of submissions. An empty list is done at once: a sign of life.",
    },
    wait: WAIT_SCHEMA,
  },
  required: ["id", "watch"],
} as const satisfies Schema;

export const LINE_FRAME_SCHEMA = {
  description: "Service to client: a result line, with the request that it belongs to in front (D23).",
  oneOf: [
    {
      type: "object",
      properties: { request: REQUEST, ...SUCCESS },
      required: ["request", "index", "id", "success", "txHash"],
    },
    {
      type: "object",
      properties: {
        request: REQUEST,
        ...FAILURE,
        // In a `watch`, a line repeats what it was asked for, also where that is no id.
        id: { type: "string", description: SUBMISSION_ID.description },
      },
      required: ["request", "index", "id", "success", "error"],
    },
  ],
} as const satisfies Schema;

export const DONE_FRAME_SCHEMA = {
  type: "object",
  description: "Service to client: every line of the request was sent (D23).",
  properties: { request: REQUEST, done: { type: "boolean", const: true } },
  required: ["request", "done"],
} as const satisfies Schema;

export const ERROR_FRAME_SCHEMA = {
  type: "object",
  description: "Service to client: the request was refused whole; the connection stays (D23).",
  properties: {
    request: {
      type: ["string", "number", "null"],
      maxLength: 256,
      description: "Null where the frame did not say which it is, or named one that is under way.",
    },
    error: ERROR_SCHEMA,
  },
  required: ["request", "error"],
  // A line of a failed transaction has an error too, and is known by its index.
  not: { required: ["index"] },
} as const satisfies Schema;
