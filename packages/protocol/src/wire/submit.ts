import { describeValue } from "../describeValue.js";
import { ProtocolError } from "../protocolError.js";
import { isLineCode, type LineCode } from "../reasons.js";
import { type ErrorBody, parseErrorBody } from "./errorBody.js";
import { WireError } from "./WireError.js";

/** The body of `POST /v1/submit`: 0x-prefixed hex of signed InnerTxs. */
export interface SubmitRequest {
  readonly transactions: readonly string[];
}

/** When a line counts as known: the node took the wrapper, or the InnerTx is in a block (D16). */
export const WAITS = ["broadcast", "included"] as const;
export type Wait = (typeof WAITS)[number];

/**
 * Reads the body of a submit request. What is inside a string is not looked at: that is for its own line (D21).
 * @throws {@link ProtocolError} `MALFORMED_BODY`, `EMPTY_BATCH` or `BATCH_TOO_LARGE`.
 */
export function parseSubmitRequest(body: unknown, maxBatchSize: number): SubmitRequest {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new ProtocolError(
      "MALFORMED_BODY",
      'the body is not a JSON object of the form {"transactions": ["0x…"]}',
    );
  }
  const transactions: unknown = Object.hasOwn(body, "transactions")
    ? (body as { transactions: unknown }).transactions
    : undefined;
  if (transactions === undefined) {
    throw new ProtocolError("MALFORMED_BODY", "the body has no member `transactions`");
  }
  if (!Array.isArray(transactions)) {
    throw new ProtocolError(
      "MALFORMED_BODY",
      `\`transactions\` is ${describeValue(transactions)}, not an array`,
    );
  }
  if (transactions.length === 0) throw new ProtocolError("EMPTY_BATCH", "`transactions` is empty");
  if (transactions.length > maxBatchSize) {
    throw new ProtocolError(
      "BATCH_TOO_LARGE",
      `the batch has ${transactions.length} transactions; at most ${maxBatchSize} are taken at once`,
      { transactions: transactions.length, maxBatchSize },
    );
  }
  const strange = transactions.findIndex((element) => typeof element !== "string");
  if (strange >= 0) {
    throw new ProtocolError(
      "MALFORMED_BODY",
      `transactions[${strange}] is ${describeValue(transactions[strange])}, not a string`,
      { index: strange },
    );
  }
  return { transactions };
}

/** @throws {@link ProtocolError} `MALFORMED_QUERY` if the value is neither absent nor one of {@link WAITS}. */
export function parseWait(value: unknown): Wait {
  if (value === undefined) return "broadcast";
  const wait = WAITS.find((known) => known === value);
  if (wait !== undefined) return wait;
  throw new ProtocolError(
    "MALFORMED_QUERY",
    `wait is ${describeValue(value)}; it can be ${WAITS.join(" or ")}`,
  );
}

interface LineStart {
  /** The position in the request's `transactions`. */
  readonly index: number;
  /** The submission's name from now on: a UUIDv7 (D15). */
  readonly id: string;
}

/** One line of the streamed response (section 2, D13), exactly the document's fields. */
export type ResultLine =
  | (LineStart & {
      readonly success: true;
      /** The InnerTx's hash (D6). */
      readonly txHash: string;
    })
  | (LineStart & {
      readonly success: false;
      readonly error: ErrorBody<LineCode>;
    });

/** A result line as JSON text without its newline, members in the document's order. */
export function encodeResultLine(line: ResultLine): string {
  const { index, id } = line;
  if (line.success) return JSON.stringify({ index, id, success: true, txHash: line.txHash });
  const { code, message, reason } = line.error;
  return JSON.stringify({ index, id, success: false, error: { code, message, reason } });
}

/** @throws {@link WireError} if the value is not a result line. */
export function parseResultLine(value: unknown): ResultLine {
  const line = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const { index, id, success, txHash } = line;
  if (typeof index === "number" && Number.isSafeInteger(index) && index >= 0 && typeof id === "string") {
    if (success === true && typeof txHash === "string" && /^0x[0-9a-f]{64}$/i.test(txHash)) {
      return { index, id, success, txHash };
    }
    if (success === false) {
      const error = parseErrorBody(line.error);
      if (isLineCode(error.code)) return { index, id, success, error: { ...error, code: error.code } };
    }
  }
  throw new WireError("the line is not a submission result", value);
}
