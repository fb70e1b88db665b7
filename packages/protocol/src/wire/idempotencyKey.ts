import { describeValue } from "../describeValue.js";
import { ProtocolError } from "../protocolError.js";

/** The header of `POST /v1/submit` that names a request, so that it can be replayed (D18). */
export const IDEMPOTENCY_KEY = "Idempotency-Key";

/** In characters. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** Can it be sent as the header's value? */
export function isIdempotencyKey(value: string): boolean {
  return value.length <= MAX_IDEMPOTENCY_KEY_LENGTH && /^[\x21-\x7e]+$/.test(value);
}

/** @throws {@link ProtocolError} `INVALID_IDEMPOTENCY_KEY` if the header is there and is no key. */
export function parseIdempotencyKey(value: string | readonly string[] | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && isIdempotencyKey(value)) return value;
  const rule = `1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters, once`;
  throw new ProtocolError(
    "INVALID_IDEMPOTENCY_KEY",
    `${IDEMPOTENCY_KEY} is ${describeValue(value)}; it must be ${rule}`,
  );
}
