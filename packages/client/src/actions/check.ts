import { CHECK_ROUTE, type CheckLine, parseCheckLine } from "@gas-waiver/protocol/wire";
import { answerLines, assertTransactionList } from "../http/answerLines.js";
import type { Connection } from "../http/connection.js";
import { type RetryOptions, withRetries } from "../http/retry.js";

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
  const query = simulate ? { simulate: "true" } : undefined;
  const question = { transactions, parse: parseCheckLine, query, signal };
  const lines: CheckLine[] = [];
  for await (const line of answerLines(connection, CHECK_ROUTE, question)) lines.push(line);
  return lines.sort((a, b) => a.index - b.index);
}
