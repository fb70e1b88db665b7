import { describe } from "../describe.js";
import { ProtocolError } from "../ProtocolError.js";

/** The header of `POST /v1/submit` that names a request, so that it can be replayed (D18). */
export const IDEMPOTENCY_KEY = "Idempotency-Key";

const LONGEST = 255;

/** Can it be sent as the header's value? */
export function isIdempotencyKey(value: string): boolean {
  return value.length <= LONGEST && /^[\x21-\x7e]+$/.test(value);
}

/** @throws {@link ProtocolError} `INVALID_IDEMPOTENCY_KEY` if the header is there and is no key. */
export function parseIdempotencyKey(value: string | readonly string[] | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && isIdempotencyKey(value)) return value;
  const rule = `1 to ${LONGEST} visible ASCII characters, once`;
  throw new ProtocolError(
    "INVALID_IDEMPOTENCY_KEY",
    `${IDEMPOTENCY_KEY} is ${describe(value)}; it must be ${rule}`,
  );
}
