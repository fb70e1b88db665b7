import { ProtocolError } from "../protocolError.js";

/** The most transactions in one request, unless configured otherwise (D22). */
export const DEFAULT_MAX_BATCH_SIZE = 100;

/** The largest request body in bytes, unless configured otherwise (D22). */
export const DEFAULT_MAX_BODY_BYTES = 32 * 1024 * 1024;

/** The most values in one body or frame. The largest batch has some hundred. */
export const MAX_JSON_VALUES = 250_000;

/** Each of these begins another value, or is part of a string. */
const VALUE_STARTS = [",", "[", "{"];

/**
 * Refuses JSON text of very many values before it is parsed: 32 MiB of `{},{},…` take a gigabyte of memory and seconds
 * of processor time. The count includes commas and brackets inside strings, so that it needs no parser.
 * @returns the most values that the text may have.
 * @throws {@link ProtocolError} `MALFORMED_BODY` if the text may have more than {@link MAX_JSON_VALUES} values.
 * @example
 * ```ts
 * assertFewValues(text);
 * const body: unknown = JSON.parse(text);
 * ```
 */
export function assertFewValues(text: string): number {
  let values = 1;
  for (const start of VALUE_STARTS) {
    for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, at + 1)) {
      if (++values > MAX_JSON_VALUES) {
        const message = `the JSON has more than ${MAX_JSON_VALUES} values; a batch has far fewer`;
        throw new ProtocolError("MALFORMED_BODY", message, { maxValues: MAX_JSON_VALUES });
      }
    }
  }
  return values;
}
