import { defineSchema } from "./schema.js";

/** The client's own name for a request over a WebSocket. Every frame of the answer repeats it (D23). */
export type RequestId = string | number;

/** Every line repeats the id of its request, so the length is limited. */
export const MAX_REQUEST_ID_LENGTH = 256;

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" ? value.length <= MAX_REQUEST_ID_LENGTH : Number.isFinite(value);
}

/** The `request` of an answer: the id of its request, or null for a request without one. */
export function isRequestName(value: unknown): value is RequestId | null {
  return value === null || isRequestId(value);
}

export const REQUEST_ID_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: ["string", "number"],
  maxLength: MAX_REQUEST_ID_LENGTH,
  description: "The client's name for the request. No other request in flight on this connection has it.",
}));
