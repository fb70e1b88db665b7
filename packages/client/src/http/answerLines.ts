import { NDJSON, WireError } from "@gas-waiver/protocol/wire";
import { InvalidArgumentError, MalformedAnswerError, StreamEndedError } from "../errors.js";
import type { Connection } from "./connection.js";
import { NdjsonError, readNdjson } from "./ndjson.js";

type Route = Parameters<Connection["request"]>[0];

interface Question<Line> {
  readonly transactions: readonly string[];
  /** Reads a line of the answer. */
  readonly parse: (value: unknown) => Line;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sends transactions once to a route that answers with a line for each, and yields each line as soon as it has come. The
 * index of a line is a position in `transactions`. Leaving early closes the answer.
 * @throws StreamEndedError for an answer without a line for each, MalformedAnswerError for one that cannot be read, or
 * the errors of {@link Connection.request}.
 */
export async function* answerLines<Line extends { readonly index: number }>(
  connection: Connection,
  route: Route,
  { transactions, parse, query, headers, signal }: Question<Line>,
): AsyncGenerator<Line, void, undefined> {
  const { status, body } = await connection.request(route, {
    headers: { accept: NDJSON, ...headers },
    body: { transactions },
    signal,
    ...(query && { query }),
  });
  const missing = new Set(transactions.keys());
  const unreadable = (what: string, cause?: unknown) => new MalformedAnswerError(status, what, { cause });
  try {
    for await (const value of body === null ? [] : readNdjson(body)) {
      const line = parse(value);
      if (!missing.delete(line.index)) {
        throw unreadable(
          `the answer has a line for index ${line.index}, which was answered before or never sent`,
        );
      }
      yield line;
    }
  } catch (cause) {
    if (cause instanceof MalformedAnswerError) throw cause;
    if (signal?.aborted) throw signal.reason;
    if (cause instanceof WireError || (cause instanceof NdjsonError && cause.fault !== "truncated")) {
      throw unreadable(`the answer cannot be read: ${cause.message}`, cause);
    }
    // When every line has come, a connection that broke afterwards changes nothing.
    if (missing.size > 0) throw new StreamEndedError([...missing], { cause });
  }
  if (missing.size > 0) throw new StreamEndedError([...missing]);
}

/**
 * Asserts that the transactions are a list. Types do not hold for programs in JavaScript, where one transaction in place of a
 * list would be sent letter by letter.
 * @throws InvalidArgumentError
 */
export function assertTransactionList(transactions: unknown): void {
  if (!Array.isArray(transactions))
    throw new InvalidArgumentError("transactions is not a list: pass [signedTransaction]");
}
