import { define } from "../define.js";
import { describeValue } from "../describeValue.js";
import { ProtocolError } from "../protocolError.js";
import { defineNamedSchemas, type Schema } from "./schema.js";

/** The events that a result line can wait for: the node accepts the wrapper, or the InnerTx is in a block (D16). */
export const WAITS = ["broadcast", "included"] as const;
export type Wait = (typeof WAITS)[number];

/**
 * Reads the parameter or member `wait`; `broadcast` if it is absent.
 * @throws {@link ProtocolError} `MALFORMED_QUERY` if the value is not one of {@link WAITS}.
 * @example
 * ```ts
 * parseWait(undefined); // "broadcast"
 * parseWait("included"); // "included"
 * ```
 */
export function parseWait(value: unknown): Wait {
  if (value === undefined) return "broadcast";
  const wait = WAITS.find((known) => known === value);
  if (wait !== undefined) return wait;
  throw new ProtocolError(
    "MALFORMED_QUERY",
    `wait is ${describeValue(value)}; it can be ${WAITS.join(" or ")}`,
    { parameter: "wait" },
  );
}

export const WAIT_SCHEMA: Schema = /* @__PURE__ */ define(() => ({
  type: "string",
  enum: WAITS,
  description:
    "The event that a result line waits for: the node accepts the wrapper, or the InnerTx is in a block (D16).",
}));

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  Wait: { schema: WAIT_SCHEMA, examples: WAITS, read: parseWait },
}));
