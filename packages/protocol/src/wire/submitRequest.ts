import { define } from "../define.js";
import { describeValue } from "../describeValue.js";
import { ProtocolError } from "../protocolError.js";
import { SIGNED_SAMPLE } from "./samples.js";
import { defineNamedSchemas, objectSchema } from "./schema.js";
import type { Members, TypeOf } from "./shape.js";
import { isObject } from "./values.js";
import { parseWait, WAIT_SCHEMA, WAITS } from "./wait.js";

export const SUBMIT_REQUEST = {
  transactions: ["list", "text"],
  /** The event that each line waits for (D16). A check waits for nothing. */
  wait: ["optional", ["enum", WAITS]],
} as const satisfies Members;

/** The body of `POST /v1/submit` and `POST /v1/check`: signed InnerTxs as 0x-prefixed hex. */
export interface SubmitRequest extends TypeOf<typeof SUBMIT_REQUEST> {}

const TRANSACTIONS = { name: "transactions", whole: "the batch", noun: "transactions" } as const;

/**
 * Reads the body of a submit or check request. The content of each string is left to the string's own result line
 * (D21).
 * @param maxBatchSize the most transactions in one request (D22).
 * @throws {@link ProtocolError} `MALFORMED_BODY`, `EMPTY_BATCH` or `BATCH_TOO_LARGE`, or `MALFORMED_QUERY` for an
 * unknown `wait`.
 * @example
 * ```ts
 * const { transactions } = parseSubmitRequest(JSON.parse('{"transactions":["0x…"]}'), 100);
 * ```
 */
export function parseSubmitRequest(body: unknown, maxBatchSize: number): SubmitRequest {
  if (!isObject(body)) {
    throw new ProtocolError(
      "MALFORMED_BODY",
      'the body is not a JSON object of the form {"transactions": ["0x…"]}',
    );
  }
  const list = ownMember(body, "transactions");
  if (list === undefined) throw new ProtocolError("MALFORMED_BODY", "the body has no member `transactions`");
  const transactions = readTexts(list, TRANSACTIONS, maxBatchSize);
  if (transactions.length === 0) throw new ProtocolError("EMPTY_BATCH", "`transactions` is empty");
  const wait = ownMember(body, "wait");
  return { transactions, ...(wait !== undefined && { wait: parseWait(wait) }) };
}

/**
 * Reads the list of texts that a request is about.
 * @param of the name of the list, the whole that may be too large, and the noun of its elements.
 */
export function readTexts(
  list: unknown,
  of: { readonly name: string; readonly whole: string; readonly noun: string },
  maxBatchSize: number,
): readonly string[] {
  const { name, whole, noun } = of;
  if (!Array.isArray(list)) {
    throw new ProtocolError("MALFORMED_BODY", `\`${name}\` is ${describeValue(list)}, not an array`);
  }
  const { length } = list;
  if (length > maxBatchSize) {
    const message = `${whole} has ${length} ${noun}; at most ${maxBatchSize} are accepted at once`;
    throw new ProtocolError("BATCH_TOO_LARGE", message, { [noun]: length, maxBatchSize });
  }
  const index = list.findIndex((element) => typeof element !== "string");
  if (index >= 0) {
    const message = `${name}[${index}] is ${describeValue(list[index])}, not a string`;
    throw new ProtocolError("MALFORMED_BODY", message, { index });
  }
  return list;
}

/** Returns a member of a parsed body or frame. What it inherits does not count. */
export function ownMember(object: object, name: string): unknown {
  return Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : undefined;
}

/** The notes on the members of a request, as the body of a POST and as a frame. */
export const SUBMIT_NOTES = /* @__PURE__ */ define(() => ({
  transactions: {
    type: "array",
    items: { type: "string" },
    minItems: 1,
    description:
      "Signed InnerTxs, each as 0x-prefixed hex. An invalid string fails in its own line; the others go on.",
  } as const,
  wait: WAIT_SCHEMA,
}));

export const SUBMIT_REQUEST_SCHEMA = /* @__PURE__ */ define(() =>
  objectSchema(SUBMIT_REQUEST, "A batch of signed InnerTxs, at most 100 by default (D22).", SUBMIT_NOTES),
);

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  SubmitRequest: {
    schema: SUBMIT_REQUEST_SCHEMA,
    examples: [{ transactions: [SIGNED_SAMPLE] }, { transactions: [SIGNED_SAMPLE], wait: "included" }],
    read: (value) => parseSubmitRequest(value, 100),
  },
}));
