// The values that bodies are made of: the schema of each, and the guard that agrees with it.
import { defineSchema } from "./schema.js";

/** A 0x-prefixed address in lower-case hex. */
export const ADDRESS = /* @__PURE__ */ defineSchema(() => ({ type: "string", pattern: "^0x[0-9a-f]{40}$" }));

/** A 0x-prefixed hash in lower-case hex. */
export const HASH = /* @__PURE__ */ defineSchema(() => ({ type: "string", pattern: "^0x[0-9a-f]{64}$" }));

/** A whole number as decimal text, because it may pass 2^53. */
export const DECIMAL = /* @__PURE__ */ defineSchema(() => ({
  type: "string",
  pattern: "^(0|[1-9][0-9]*)$",
}));

/** A time in ISO 8601, UTC. */
export const TIME = /* @__PURE__ */ defineSchema(() => ({ type: "string", format: "date-time" }));

/** A whole number from 0 on. */
export const COUNT = /* @__PURE__ */ defineSchema(() => ({ type: "integer", minimum: 0 }));

/** The id of a submission (D15). */
export const SUBMISSION_ID = /* @__PURE__ */ defineSchema(() => ({
  type: "string",
  format: "uuid",
  description: "The id of the submission, a UUIDv7 (D15).",
}));

/** The hash of the InnerTx (D6). */
export const TX_HASH = /* @__PURE__ */ defineSchema(() => ({
  ...HASH,
  description: "The hash of the InnerTx, which the user signed (D6).",
}));

/** Returns the members of an object, and none of any other value. */
export function membersOf(value: unknown): Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : {};
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}

/** Tells whether the value is a whole number from 0 on that a double holds exactly. */
export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Tells whether the value is a 0x-prefixed hash, in either case. */
export function isHash(value: unknown): value is string {
  return typeof value === "string" && /^0x[0-9a-f]{64}$/i.test(value);
}
