import {
  IDEMPOTENCY_KEY,
  isIdempotencyKey,
  parseResultLine,
  type ResultLine,
  SUBMIT_ROUTE,
  type Wait,
} from "@gas-waiver/protocol/wire";
import { InvalidArgumentError, StreamEndedError, WrongSenderError } from "../errors.js";
import { answerLines, assertTransactionList } from "../http/answerLines.js";
import type { Connection } from "../http/connection.js";
import { pauseBeforeRetry, type RetryOptions } from "../http/retry.js";
import { isSurelyNotAccepted, leavingInDoubt } from "./acceptance.js";

export type { ResultLine, Wait } from "@gas-waiver/protocol/wire";

/** Options of {@link submit}. */
export interface SubmitOptions {
  /** The stage at which a transaction's line is sent: `broadcast` (the default), or `included` in a block. */
  readonly wait?: Wait;
  /** Ends the waiting. Transactions that the service has accepted are processed all the same. */
  readonly signal?: AbortSignal;
  /**
   * Sends the transactions without a line again when the service is away or busy, or its answer breaks off; with an
   * `idempotencyKey` the whole request, and no line is given twice. Off by default. It is safe, because the same transaction is the same submission (D18): the second answer equals the first. Only a
   * transaction whose failure was lost on the way is tried once more; with an `idempotencyKey` not even that.
   */
  readonly retry?: RetryOptions;
  /**
   * Names the request: 1 to 255 visible ASCII characters, such as a UUID. Sent again with the same transactions within
   * the service's retention (a day by default), it gives the same ids and the same outcomes, refusals and failures
   * included. With other transactions it is refused (`IDEMPOTENCY_KEY_REUSED`); `details.txHash` is the first one's.
   */
  readonly idempotencyKey?: string;
  /**
   * Refuses transactions that another account has signed, before anything is sent. A changed byte of a signed transaction
   * seldom makes it invalid: it recovers to another sender, for whom the service would submit it.
   */
  readonly sender?: SenderCheck;
}

/**
 * Submits signed transactions of gas price 0, and gives the result of each as soon as it is known, in the order in
 * which they become known.
 *
 * The request goes out when the iteration begins. It is sent once, and again only with `retry`. Leaving the loop
 * early closes the answer and cancels nothing.
 * @param transactions the signed bytes as 0x hex, at most 100 by default.
 * @returns one line a transaction; `index` is its position in `transactions`. `success: true` says that it was sent, and
 * with `wait: "included"` that it worked. A line with `success: false` is a result, not an exception.
 * @throws {@link WaiverClientError} (`RequestRefusedError`, `ConnectionFailedError`, `StreamEndedError`,
 * `MalformedAnswerError`, `InvalidArgumentError` or, with `sender`, `WrongSenderError`), or the reason of an aborted
 * signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * for await (const line of submit(connection, [signedTransaction])) {
 *   console.log(line.index, line.success ? line.txHash : line.error.message);
 * }
 * ```
 */
export async function* submit(
  connection: Connection,
  transactions: readonly string[],
  { wait, signal, retry = { attempts: 1 }, idempotencyKey, sender }: SubmitOptions = {},
): AsyncGenerator<ResultLine, void, undefined> {
  // fetch would refuse such a header with an error of its own.
  if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey)) {
    throw new InvalidArgumentError(
      `idempotencyKey is not 1 to 255 visible ASCII characters: ${idempotencyKey}`,
    );
  }
  assertTransactionList(transactions);
  const question = {
    parse: parseResultLine,
    query: wait && { wait },
    headers: idempotencyKey === undefined ? undefined : { [IDEMPOTENCY_KEY]: idempotencyKey },
    signal,
  };
  if (sender !== undefined) await assertSender(transactions, sender);
  /** The positions in `transactions` that have no line yet. */
  const missing = new Set(transactions.keys());
  let mayBeAccepted = false;
  for (let attempt = 1; ; attempt++) {
    // Under an idempotency key only the whole request is the same one.
    const sent = idempotencyKey === undefined ? [...missing] : [...transactions.keys()];
    const texts = sent.map((index) => transactions[index] ?? "");
    try {
      const lines = answerLines(connection, SUBMIT_ROUTE, { ...question, transactions: texts });
      for await (const line of lines) {
        const index = sent[line.index] ?? line.index;
        if (missing.delete(index)) yield { ...line, index };
      }
      return;
    } catch (error) {
      // Earlier attempts had already yielded every line that this answer lacks.
      if (error instanceof StreamEndedError && missing.size === 0) return;
      const mayHaveBeen: boolean = mayBeAccepted || !isSurelyNotAccepted(error);
      await pauseBeforeRetry(error, attempt, retry, signal).catch((thrown: unknown) => {
        if (thrown !== error || !mayHaveBeen) throw thrown;
        throw leavingInDoubt(errorOfAllAttempts(error, missing), transactions, missing);
      });
      mayBeAccepted = mayHaveBeen;
    }
  }
}

/** Returns the error for all attempts together, one of which may have been accepted. */
function errorOfAllAttempts(error: unknown, missing: ReadonlySet<number>): unknown {
  if (error instanceof StreamEndedError) return new StreamEndedError([...missing], { cause: error.cause });
  return isSurelyNotAccepted(error) ? new StreamEndedError([...missing], { cause: error }) : error;
}

/**
 * The account that must have signed the transactions, and a function that recovers the signer of one. Each library for
 * chains has such a function; so has `@gas-waiver/client/self-hosted` (`senderOf`).
 */
export interface SenderCheck {
  /** The sender's address, as 0x hex in any case. */
  readonly address: string;
  /** Returns the address that the signed bytes (0x hex) recover to. */
  recover(signed: string): string | Promise<string>;
}

/** @throws {@link WrongSenderError} for the first transaction that another account signed, or nobody. */
async function assertSender(
  transactions: readonly string[],
  { address, recover }: SenderCheck,
): Promise<void> {
  for (const [index, signed] of transactions.entries()) {
    const recovered = await recoverOrRefuse(index, () => recover(signed));
    if (recovered.toLowerCase() !== address.toLowerCase()) {
      throw new WrongSenderError(index, `transaction ${index} recovers to ${recovered}, not to ${address}`);
    }
  }
}

async function recoverOrRefuse(index: number, recover: () => string | Promise<string>): Promise<string> {
  try {
    return await recover();
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new WrongSenderError(index, `transaction ${index} recovers to no sender: ${message}`, { cause });
  }
}
