import { SIMULATE, SIMULATION_FAILURES } from "../check.js";
import { LINE_ERROR_SCHEMA } from "./errorBody.js";
import type { Schema } from "./Schema.js";
import { TX_HASH } from "./values.js";

export const SIMULATE_SCHEMA = {
  type: "string",
  enum: SIMULATE,
  description: "Whether each call that would be taken is also run on the state of the latest block.",
} as const satisfies Schema;

const INDEX = {
  type: "integer",
  minimum: 0,
  description: "The position in the request's `transactions`.",
} as const satisfies Schema;

const SIMULATION = {
  description: "What the call does on the state of the latest block; only there if it was asked for.",
  oneOf: [
    { type: "object", properties: { success: { type: "boolean", const: true } }, required: ["success"] },
    {
      type: "object",
      properties: {
        success: { type: "boolean", const: false },
        kind: {
          type: "string",
          enum: SIMULATION_FAILURES,
          description:
            "`error`: a text of the contract. `panic`: a check of its compiler. `custom`: an error of its own. `empty`: no reason. `halted`: it did not revert, and did not end well, for example for want of gas.",
        },
        message: { type: "string", description: "The contract's text, or what its data says." },
        data: { type: "string", description: "The data of the revert, as hex." },
      },
      required: ["success", "kind", "message"],
    },
  ],
} as const satisfies Schema;

export const CHECK_LINE_SCHEMA = {
  description: "One line of a check: whether one transaction would be taken.",
  oneOf: [
    {
      type: "object",
      properties: {
        index: INDEX,
        success: { type: "boolean", const: true },
        txHash: TX_HASH,
        simulation: SIMULATION,
      },
      required: ["index", "success", "txHash"],
    },
    {
      type: "object",
      properties: { index: INDEX, success: { type: "boolean", const: false }, error: LINE_ERROR_SCHEMA },
      required: ["index", "success", "error"],
    },
  ],
} as const satisfies Schema;
