import { ProtocolError } from "../protocolError.js";

/** The most values in one body or frame: a batch of the longest has some hundred. */
export const MAX_JSON_VALUES = 250_000;

/** Each of these begins another value, or stands in a text. */
const BEGINNINGS = [",", "[", "{"];

/**
 * Refuses text that would become very many values: 32 MiB of `{},{},…` take a gigabyte and seconds when they are
 * parsed. Counted is what could begin a value, without telling texts from the rest, so that it costs next to nothing.
 * @throws {@link ProtocolError} `MALFORMED_BODY`.
 */
export function assertFewValues(text: string): void {
  let values = 1;
  for (const beginning of BEGINNINGS) {
    for (let at = text.indexOf(beginning); at >= 0; at = text.indexOf(beginning, at + 1)) {
      if (++values > MAX_JSON_VALUES) {
        const message = `the JSON has more than ${MAX_JSON_VALUES} values; a batch has far fewer`;
        throw new ProtocolError("MALFORMED_BODY", message, { maxValues: MAX_JSON_VALUES });
      }
    }
  }
}
