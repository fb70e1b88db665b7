import { CHECK_ROUTE, type CheckLine, NDJSON, parseCheckLine, WireError } from "@gas-waiver/protocol/wire";
import { MalformedAnswerError, StreamEndedError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { NdjsonError, readNdjson } from "../http/ndjson.js";
import { type RetryOptions, withRetries } from "../http/retry.js";
import { assertTransactionList } from "./transactionList.js";

export type { CheckLine, Simulation } from "@gas-waiver/protocol/wire";

/** Options of {@link check}. */
export interface CheckOptions {
  /** Also runs each call that would be accepted on the latest block, and tells whether and why it reverts. */
  readonly simulate?: boolean;
  readonly signal?: AbortSignal;
  /** Asks again when the service is away or busy: 3 attempts by default. A check changes nothing. */
  readonly retry?: RetryOptions;
}

/**
 * Makes a dry run of a submit: tells for each signed transaction whether the service would accept it now, and if not, which
 * rule refuses it. Nothing is submitted or counted; checks have a rate limit of their own.
 * @param transactions the signed bytes as 0x hex.
 * @returns one line a transaction, in their order.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const [line] = await check(connection, [signedTransaction], { simulate: true });
 * ```
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
  assertTransactionList(transactions);
  const response = await connection.request(CHECK_ROUTE, {
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

/** Returns the error for an answer that cannot be read to its end. */
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
