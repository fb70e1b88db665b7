import {
  NDJSON,
  parseResultLine,
  type ResultLine,
  ROUTES,
  type Wait,
  WireError,
} from "@gas-waiver/protocol/wire";
import type { Connection } from "./Connection.js";
import { NdjsonError, readNdjson } from "./ndjson.js";
import { MalformedAnswerError, StreamEndedError } from "./WaiverClientError.js";

export interface SubmitOptions {
  /** When a line counts as known: `broadcast` (the default), or `included` in a block. */
  readonly wait?: Wait;
  /** Ends the waiting. What the service has accepted goes its way all the same. */
  readonly signal?: AbortSignal;
}

/**
 * Submits signed gas price 0 transactions (0x hex) and gives each one's result as soon as it is known, in the
 * order in which they become known; `index` is the position in `transactions`.
 *
 * The request goes out when iteration begins, once, and is never repeated by itself. Leaving the loop early
 * closes the answer and cancels nothing.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 */
export async function* submit(
  connection: Connection,
  transactions: readonly string[],
  { wait, signal }: SubmitOptions = {},
): AsyncGenerator<ResultLine, void, undefined> {
  const response = await connection.request(ROUTES.submit, {
    headers: { accept: NDJSON },
    body: { transactions },
    signal,
    ...(wait && { query: { wait } }),
  });
  const missing = new Set(transactions.keys());
  if (response.body !== null) {
    const values = readNdjson(response.body);
    try {
      for (;;) {
        const value = await nextValue(values, response.status, missing, signal);
        if (value === undefined) break;
        yield lineOf(value.line, response.status, missing);
      }
    } finally {
      await values.return();
    }
  }
  if (missing.size > 0) throw new StreamEndedError([...missing]);
}

/** The next value of the stream, or undefined at its end; its errors become the client's. */
async function nextValue(
  values: AsyncGenerator<unknown, void, undefined>,
  status: number,
  missing: ReadonlySet<number>,
  signal: AbortSignal | undefined,
): Promise<{ readonly line: unknown } | undefined> {
  try {
    const { done, value } = await values.next();
    return done ? undefined : { line: value };
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    if (cause instanceof NdjsonError && cause.fault !== "truncated") {
      throw new MalformedAnswerError(status, `the answer cannot be read: ${cause.message}`, { cause });
    }
    // Every line is there: that the connection broke afterwards changes nothing.
    if (missing.size === 0) return undefined;
    throw new StreamEndedError([...missing], { cause });
  }
}

/** A result line for a transaction that had none yet. */
function lineOf(value: unknown, status: number, missing: Set<number>): ResultLine {
  let line: ResultLine;
  try {
    line = parseResultLine(value);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    throw new MalformedAnswerError(status, `the answer cannot be read: ${cause.message}`, { cause });
  }
  if (!missing.delete(line.index)) {
    throw new MalformedAnswerError(
      status,
      `the answer has a line for index ${line.index}, which was answered before or never sent`,
    );
  }
  return line;
}
