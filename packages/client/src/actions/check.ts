import { type CheckLine, NDJSON, parseCheckLine, ROUTES, WireError } from "@gas-waiver/protocol/wire";
import { MalformedAnswerError, StreamEndedError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { NdjsonError, readNdjson } from "../http/ndjson.js";
import { type RetryOptions, withRetries } from "../http/retry.js";

export interface CheckOptions {
  /** Also runs each call that would be taken on the latest block: does it revert, and why? */
  readonly simulate?: boolean;
  readonly signal?: AbortSignal;
  /** Asks again when the service is away or busy, three times in all unless told otherwise: nothing is changed. */
  readonly retry?: RetryOptions;
}

/**
 * The dry run of a submit: says of each signed transaction (0x hex), in their order, whether it would be taken now,
 * and if not, which rule refuses it. Nothing is submitted or counted; checks have a rate of their own.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 */
export function check(
  connection: Connection,
  transactions: readonly string[],
  { simulate = false, signal, retry = { attempts: 3 } }: CheckOptions = {},
): Promise<CheckLine[]> {
  return withRetries(() => checkOnce(connection, transactions, simulate, signal), retry, signal);
}

async function checkOnce(
  connection: Connection,
  transactions: readonly string[],
  simulate: boolean,
  signal: AbortSignal | undefined,
): Promise<CheckLine[]> {
  const response = await connection.request(ROUTES.check, {
    headers: { accept: NDJSON },
    body: { transactions },
    signal,
    ...(simulate && { query: { simulate: "true" } }),
  });
  const lines = new Map<number, CheckLine>();
  try {
    if (response.body !== null) {
      for await (const value of readNdjson(response.body)) {
        const line = parseCheckLine(value);
        lines.set(line.index, line);
      }
    }
  } catch (cause) {
    throw readingError(cause, response.status, missingOf(transactions, lines), signal);
  }
  const missing = missingOf(transactions, lines);
  if (missing.length > 0) throw new StreamEndedError(missing);
  return [...lines.values()].sort((a, b) => a.index - b.index);
}

function missingOf(transactions: readonly string[], lines: ReadonlyMap<number, CheckLine>): number[] {
  return [...transactions.keys()].filter((index) => !lines.has(index));
}

/** What an answer that cannot be read to its end means. */
function readingError(
  cause: unknown,
  status: number,
  missing: readonly number[],
  signal: AbortSignal | undefined,
): unknown {
  if (signal?.aborted) return signal.reason;
  const unreadable =
    cause instanceof WireError || (cause instanceof NdjsonError && cause.fault !== "truncated");
  if (!unreadable) return new StreamEndedError(missing, { cause });
  return new MalformedAnswerError(status, `the answer cannot be read: ${cause.message}`, { cause });
}
