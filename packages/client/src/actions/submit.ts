import {
  IDEMPOTENCY_KEY,
  isIdempotencyKey,
  NDJSON,
  parseResultLine,
  type ResultLine,
  ROUTES,
  type Wait,
  WireError,
} from "@gas-waiver/protocol/wire";
import {
  ConnectionFailedError,
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
} from "../errors.js";
import type { Connection } from "../http/connection.js";
import { NdjsonError, readNdjson } from "../http/ndjson.js";
import { pauseBeforeRetry, type RetryOptions } from "../http/retry.js";

export interface SubmitOptions {
  /** When a line counts as known: `broadcast` (the default), or `included` in a block. */
  readonly wait?: Wait;
  /** Ends the waiting. What the service has accepted goes its way all the same. */
  readonly signal?: AbortSignal;
  /**
   * Sends again what has no line yet when the service is away, busy, or breaks off. Off unless given. It is safe,
   * because the same transaction is the same submission (D18): the second answer is the first one's. Only what
   * had finally failed meanwhile, unheard, is tried once more; with an `idempotencyKey` not even that.
   */
  readonly retry?: RetryOptions;
  /**
   * Names the request: 1 to 255 visible ASCII characters, such as a UUID. Sent again with the same transactions, within
   * a day unless the service keeps it for another time, it gives the same ids and the same outcomes, also of what was
   * refused or has failed. With other transactions it is refused (`IDEMPOTENCY_KEY_REUSED`).
   */
  readonly idempotencyKey?: string;
}

/**
 * Submits signed gas price 0 transactions (0x hex) and gives each one's result as soon as it is known, in the
 * order in which they become known; `index` is the position in `transactions`.
 *
 * The request goes out when iteration begins, once, and is repeated only with `retry`. Leaving the loop early
 * closes the answer and cancels nothing.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 */
export async function* submit(
  connection: Connection,
  transactions: readonly string[],
  { wait, signal, retry = { attempts: 1 }, idempotencyKey }: SubmitOptions = {},
): AsyncGenerator<ResultLine, void, undefined> {
  // fetch would refuse such a header with an error of its own.
  if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey)) {
    throw new TypeError("the idempotency key is not 1 to 255 visible ASCII characters");
  }
  /** The positions in `transactions` that have no line yet. */
  const missing = new Set(transactions.keys());
  let maybeTaken = false;
  for (let attempt = 1; ; attempt++) {
    // Under an idempotency key only the whole request is the same one.
    const sent = idempotencyKey === undefined ? [...missing] : [...transactions.keys()];
    const texts = sent.map((index) => transactions[index] ?? "");
    try {
      for await (const line of submitOnce(connection, texts, { wait, signal, idempotencyKey })) {
        const index = sent[line.index] ?? line.index;
        if (missing.delete(index)) yield { ...line, index };
      }
      return;
    } catch (error) {
      // What this attempt still owed had come with an earlier one.
      if (error instanceof StreamEndedError && missing.size === 0) return;
      await pauseBeforeRetry(error, attempt, retry, signal).catch((thrown: unknown) => {
        throw thrown === error ? errorOfAllAttempts(error, maybeTaken, missing) : thrown;
      });
      maybeTaken ||= !isSurelyNotAccepted(error);
    }
  }
}

/** Does the error say that nothing of this attempt was taken? */
function isSurelyNotAccepted(error: unknown): boolean {
  if (error instanceof ConnectionFailedError) return error.certainty === "not_sent";
  return error instanceof RequestRefusedError;
}

/** What the last attempt's error means for all of them: where an earlier one may have been taken, that is so. */
function errorOfAllAttempts(error: unknown, maybeTaken: boolean, missing: ReadonlySet<number>): unknown {
  if (error instanceof StreamEndedError) return new StreamEndedError([...missing], { cause: error.cause });
  return maybeTaken && isSurelyNotAccepted(error)
    ? new StreamEndedError([...missing], { cause: error })
    : error;
}

interface Attempt {
  readonly wait: Wait | undefined;
  readonly signal: AbortSignal | undefined;
  readonly idempotencyKey: string | undefined;
}

/** One request. The indexes of its lines are positions in what it sends. */
async function* submitOnce(
  connection: Connection,
  transactions: readonly string[],
  { wait, signal, idempotencyKey }: Attempt,
): AsyncGenerator<ResultLine, void, undefined> {
  const response = await connection.request(ROUTES.submit, {
    headers: { accept: NDJSON, ...(idempotencyKey !== undefined && { [IDEMPOTENCY_KEY]: idempotencyKey }) },
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
