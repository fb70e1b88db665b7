import { LINE_CODES, REQUEST_ONLY_CODES } from "../../reasons.js";
import type { Schema } from "./Schema.js";

const MESSAGE = {
  type: "string",
  description: "The failure in a sentence, with the values involved. For people: it may change.",
} as const satisfies Schema;

const REASON = {
  type: "string",
  pattern: "^[A-Z][A-Z0-9_]*$",
  description: "The stable name of the rule that failed. Newer services may know more of them (D26).",
} as const satisfies Schema;

export const ERROR_SCHEMA = {
  type: "object",
  description: "What failed: its kind, in a sentence, and the rule (D13, D21).",
  properties: {
    code: { type: "string", enum: [...LINE_CODES, ...REQUEST_ONLY_CODES] },
    message: MESSAGE,
    reason: REASON,
  },
  required: ["code", "message"],
} as const satisfies Schema;

export const LINE_ERROR_SCHEMA = {
  type: "object",
  description: "What failed for one transaction (D13).",
  properties: { code: { type: "string", enum: LINE_CODES }, message: MESSAGE, reason: REASON },
  required: ["code", "message"],
} as const satisfies Schema;

export const REQUEST_ERROR_SCHEMA = {
  type: "object",
  description: "The whole body of a request refused whole (D21).",
  properties: { error: ERROR_SCHEMA },
  required: ["error"],
} as const satisfies Schema;
