import { define } from "../../define.js";
import { describeValue } from "../../describeValue.js";
import { ProtocolError } from "../../protocolError.js";
import type { Schema } from "../schema.js";

/** The header of `POST /v1/submit` that names a request, so that it can be replayed (D18). */
export const IDEMPOTENCY_KEY = "Idempotency-Key";

/** The longest value of the header, in characters. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/**
 * Tells whether the text can be the header's value: 1 to 255 visible ASCII characters.
 * @example
 * ```ts
 * isIdempotencyKey("order-17"); // true
 * isIdempotencyKey("order 17"); // false: a space
 * ```
 */
export function isIdempotencyKey(value: string): boolean {
  return value.length <= MAX_IDEMPOTENCY_KEY_LENGTH && /^[\x21-\x7e]+$/.test(value);
}

/**
 * Reads the header; undefined if it is absent.
 * @throws {@link ProtocolError} `INVALID_IDEMPOTENCY_KEY` if the header is present and not valid, or present twice.
 * @example
 * ```ts
 * parseIdempotencyKey("order-17"); // "order-17"
 * parseIdempotencyKey(undefined); // undefined
 * ```
 */
export function parseIdempotencyKey(value: string | readonly string[] | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && isIdempotencyKey(value)) return value;
  const rule = `1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters, once`;
  throw new ProtocolError(
    "INVALID_IDEMPOTENCY_KEY",
    `${IDEMPOTENCY_KEY} is ${describeValue(value)}; it must be ${rule}`,
  );
}

export const IDEMPOTENCY_KEY_SCHEMA: Schema = /* @__PURE__ */ define(() => ({
  type: "string",
  minLength: 1,
  maxLength: MAX_IDEMPOTENCY_KEY_LENGTH,
  pattern: "^[!-~]+$",
}));
