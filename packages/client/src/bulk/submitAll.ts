import type { KeyPolicy, ResultLine } from "@gas-waiver/protocol/wire";
import { mayPassLater } from "../actions/acceptance.js";
import { policy } from "../actions/policy.js";
import { submit } from "../actions/submit.js";
import { InvalidArgumentError, JournalError, WaiverClientError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { pause } from "../http/pause.js";
import type { RetryOptions } from "../http/retry.js";
import { type BatchBounds, batchesOf } from "./batches.js";
import {
  createOutcomeLog,
  decodeJournal,
  encodeJournal,
  type Journal,
  type JournalChain,
  type JournalContent,
  type OutcomeLog,
} from "./journal.js";
import { createPacer, type Pacer, pacedConnection } from "./pacer.js";
import type {
  SubmitAllOptions,
  SubmitAllProgress,
  SubmitAllResult,
  SubmitAllTransactions,
} from "./submitAllOptions.js";

export type { Journal } from "./journal.js";
export type * from "./submitAllOptions.js";

/** The attempts for each request, the reading of the key's limits included. */
const RETRY: RetryOptions = { attempts: 10 };
/** The requests that may be open at once. */
const MAX_OPEN_REQUESTS = 4;
/** The rounds in a row without a success, after which failures that a retry might mend count as failed. */
const MAX_IDLE_ROUNDS = 3;
const ROUND_PAUSE_MS = 1_000;

/**
 * Submits any number of signed transactions: in requests of the size and at the rate that the service allows this key, again
 * where that may help, and from where it ended if there is a journal. Nothing is sent twice, since the same signed bytes are the
 * same submission (D18): a call that was killed is repeated as it was.
 *
 * Sign inside a function, so that a repeated call uses the bytes of the journal, and signs no second transaction of the same
 * purpose with another nonce.
 * @param transactions the signed bytes as 0x hex, or a function that signs them. The order of one sender's nonces is kept.
 * @returns the outcome of each transaction. A failure is a result, not an exception; one that a retry might still mend is not in
 * the journal, so a repeated call tries it again.
 * @throws {@link WaiverClientError}: `JournalError` for a journal of other transactions or of another chain, or one that is
 * damaged; the error of a request that failed for good. The reason of an aborted signal.
 * @example
 * ```ts
 * import { fileJournal } from "@gas-waiver/client/node";
 *
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const journal = fileJournal("airdrop.journal");
 * const { succeeded, failed } = await submitAll(connection, () => [signedTransaction], { journal });
 * ```
 */
export async function submitAll(
  connection: Connection,
  transactions: SubmitAllTransactions,
  options: SubmitAllOptions = {},
): Promise<SubmitAllResult> {
  const { signal, journal, onJournaled, retry = RETRY } = options;
  if (onJournaled && journal === undefined)
    throw new InvalidArgumentError("onJournaled is there and journal is not: nothing would become durable");
  const key = await policy(connection, { retry, ...(signal && { signal }) });
  const content = await openJournal(journal, transactions, key);
  await onJournaled?.({ transactions: content.transactions });
  const run = new Run(connection, content, createOutcomeLog(journal, content.isTorn), key, options);
  return await run.complete();
}

/** Reads the journal, or begins it. Nothing is sent before the bytes of all transactions are in it. */
async function openJournal(
  journal: Journal | undefined,
  transactions: SubmitAllTransactions,
  { chainId, genesisHash }: JournalChain,
): Promise<JournalContent> {
  const chain = { chainId, genesisHash };
  const text = await journal?.read();
  if (text !== undefined) {
    const content = await decodeJournal(text);
    assertSame(content, transactions, chain);
    return content;
  }
  const signed = typeof transactions === "function" ? await transactions() : transactions;
  await journal?.begin(await encodeJournal(chain, signed));
  return { ...chain, transactions: signed, outcomes: new Map(), isTorn: false };
}

function assertSame(
  content: JournalContent,
  transactions: SubmitAllTransactions,
  { chainId, genesisHash = content.genesisHash }: JournalChain,
): void {
  if (content.chainId !== chainId) {
    throw new JournalError(`the journal is of chain ${content.chainId}, and the service of chain ${chainId}`);
  }
  if (content.genesisHash !== undefined && content.genesisHash !== genesisHash) {
    throw new JournalError(
      `the journal is of another chain ${chainId}, whose first block is ${content.genesisHash}, and not ${genesisHash}: give each ` +
        "chain a journal of its own",
    );
  }
  if (typeof transactions === "function") return;
  const { length } = content.transactions;
  const isSame =
    length === transactions.length && transactions.every((one, i) => one === content.transactions[i]);
  if (!isSame) {
    throw new JournalError(
      `the journal is of ${length} other transaction(s); give each set a journal of its own`,
    );
  }
}

/** One call of {@link submitAll}. */
class Run {
  readonly #connection: Connection;
  readonly #transactions: readonly string[];
  readonly #outcomes: Map<number, ResultLine>;
  readonly #log: OutcomeLog;
  readonly #bounds: BatchBounds;
  readonly #maxOpen: number;
  readonly #pacer: Pacer;
  readonly #options: SubmitAllOptions;
  /** The positions of those that the service has accepted, or may have. */
  readonly #open = new Set<number>();
  /** Aborted by the caller, or by the first request that fails for good. */
  readonly #ending = new AbortController();
  #succeeded = 0;
  #failed = 0;
  #rateRefusals = 0;

  constructor(
    connection: Connection,
    { transactions, outcomes }: JournalContent,
    log: OutcomeLog,
    { limits }: KeyPolicy,
    options: SubmitAllOptions,
  ) {
    this.#connection = connection;
    this.#transactions = transactions;
    this.#outcomes = new Map(outcomes);
    this.#log = log;
    this.#options = options;
    for (const { success } of outcomes.values()) this.#count(success);
    const { maxBatchSize, rateBurst, maxQueued, maxBodyBytes, ratePerSecond } = limits;
    // A request of more than the burst, or than the queue takes, would be refused forever.
    const maxTransactions = Math.max(1, Math.min(maxBatchSize, rateBurst, maxQueued));
    this.#bounds = { maxTransactions, maxBytes: maxBodyBytes };
    this.#maxOpen = Math.max(1, Math.min(MAX_OPEN_REQUESTS, Math.floor(maxQueued / maxTransactions)));
    this.#pacer = createPacer(Math.max(1, ratePerSecond), Math.max(1, rateBurst));
  }

  async complete(): Promise<SubmitAllResult> {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    const end = () => this.#ending.abort(signal?.reason);
    signal?.addEventListener("abort", end, { once: true });
    try {
      this.#showProgress();
      await this.#sendInRounds([...this.#transactions.keys()].filter((index) => !this.#outcomes.has(index)));
    } catch (error) {
      const inDoubt = [...this.#open].map((index) => ({ index, signed: this.#transactions[index] ?? "" }));
      throw error instanceof WaiverClientError ? Object.assign(error, { inDoubt }) : error;
    } finally {
      signal?.removeEventListener("abort", end);
      await this.#log.flush();
    }
    const outcomes = [...this.#outcomes.values()].sort((a, b) => a.index - b.index);
    return { ...this.#progress(), outcomes };
  }

  /** Sends all, and then those again whose failure a retry may mend, as long as that helps. */
  async #sendInRounds(indexes: readonly number[]): Promise<void> {
    let repeatable: readonly ResultLine[] = [];
    let idle = 0;
    for (
      let sent = indexes;
      sent.length > 0;
      sent = repeatable.map(({ index }) => index).sort((a, b) => a - b)
    ) {
      const before = this.#succeeded;
      repeatable = await this.#sendRound(sent);
      idle = this.#succeeded > before ? 0 : idle + 1;
      if (repeatable.length === 0 || idle === MAX_IDLE_ROUNDS) break;
      await pause(ROUND_PAUSE_MS * 2 ** idle, this.#ending.signal);
    }
    // Not in the journal, so that a later call tries them again.
    for (const line of repeatable) this.#settle(line);
  }

  /** Sends each transaction once. @returns the lines of failures that a retry may mend. */
  async #sendRound(indexes: readonly number[]): Promise<ResultLine[]> {
    const repeatable: ResultLine[] = [];
    const open = new Set<Promise<void>>();
    const { signal } = this.#ending;
    try {
      for (const batch of batchesOf(indexes, this.#transactions, this.#bounds)) {
        while (open.size >= this.#maxOpen) await Promise.race(open);
        await this.#pacer.take(batch.length, positionOf(batch), signal);
        const request = this.#sendBatch(batch, repeatable).finally(() => open.delete(request));
        open.add(request);
        // The loop may be waiting for something else when it fails.
        request.catch((error: unknown) => this.#ending.abort(error));
      }
      await Promise.all(open);
    } catch (error) {
      this.#ending.abort(error);
      await Promise.allSettled(open);
      throw signal.reason;
    }
    return repeatable;
  }

  async #sendBatch(batch: readonly number[], repeatable: ResultLine[]): Promise<void> {
    const { wait, retry = RETRY } = this.#options;
    const texts = batch.map((index) => this.#transactions[index] ?? "");
    const { signal } = this.#ending;
    const options = { retry, signal, ...(wait && { wait }) };
    // Others may have been accepted in an earlier round.
    const missing = new Set(batch.filter((index) => !this.#open.has(index)));
    for (const index of missing) this.#open.add(index);
    try {
      for await (const line of submit(this.#connectionFor(batch), texts, options)) {
        const own = { ...line, index: batch[line.index] ?? line.index };
        missing.delete(own.index);
        if (!own.success && own.error.code !== "TIMEOUT") this.#open.delete(own.index);
        if (!own.success && mayPassLater(own.error)) repeatable.push(own);
        else {
          this.#log.add(own);
          this.#settle(own);
        }
      }
    } catch (error) {
      // A request that the error of another one has cut may have been accepted.
      const isSure = !signal.aborted && error instanceof WaiverClientError && error.inDoubt.length === 0;
      if (isSure) for (const index of missing) this.#open.delete(index);
      throw error;
    }
    await this.#log.flush();
  }

  #connectionFor(batch: readonly number[]): Connection {
    const onRefusal = () => {
      this.#rateRefusals++;
      this.#showProgress();
    };
    const { signal } = this.#ending;
    const paced = { count: batch.length, position: positionOf(batch), signal, onRefusal };
    return pacedConnection(this.#connection, this.#pacer, paced);
  }

  #settle(line: ResultLine): void {
    this.#outcomes.set(line.index, line);
    this.#count(line.success);
    this.#showProgress();
  }

  #count(success: boolean): void {
    if (success) this.#succeeded++;
    else this.#failed++;
  }

  #progress(): SubmitAllProgress {
    return {
      total: this.#transactions.length,
      succeeded: this.#succeeded,
      failed: this.#failed,
      rateRefusals: this.#rateRefusals,
    };
  }

  #showProgress(): void {
    this.#options.onProgress?.(this.#progress());
  }
}

function positionOf([first = 0]: readonly number[]): number {
  return first;
}
