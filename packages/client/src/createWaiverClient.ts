import type {
  AnySubmissionRecord,
  CheckLine,
  Health,
  KeyPolicy,
  Readiness,
  ResultLine,
  SubmissionPage,
  SubmissionRecord,
} from "@gas-waiver/protocol/wire";
import { type CheckOptions, check } from "./actions/check.js";
import { type HealthOptions, health } from "./actions/health.js";
import { type ListOptions, type ListPageOptions, list, listPage } from "./actions/list.js";
import { type PolicyOptions, policy } from "./actions/policy.js";
import { type ReadyOptions, ready } from "./actions/ready.js";
import { type StatusOptions, status } from "./actions/status.js";
import { type SubmitOptions, submit } from "./actions/submit.js";
import { type WaitOptions, wait } from "./actions/wait.js";
import {
  type SubmitAllOptions,
  type SubmitAllResult,
  type SubmitAllTransactions,
  submitAll,
} from "./bulk/submitAll.js";
import { type ConnectionOptions, createConnection } from "./http/connection.js";

// The same functions for callers who bundle only some of them, each with its options and the types of its answer.
export * from "./actions/check.js";
export * from "./actions/health.js";
export * from "./actions/list.js";
export * from "./actions/policy.js";
export * from "./actions/ready.js";
export {
  type AnySubmissionRecord,
  type RefusedRecord,
  type StatusOptions,
  type SubmissionRecord,
  status,
} from "./actions/status.js";
export * from "./actions/submit.js";
export { type WaitOptions, wait } from "./actions/wait.js";
export * from "./bulk/submitAll.js";

/** The address of the service, and how to talk to it. */
export type WaiverClientOptions = ConnectionOptions;

/** The functions of this package, bound to one service. */
export interface WaiverClient {
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
   * `MalformedAnswerError`, `InvalidArgumentError` or, with `sender`, `WrongSenderError`), or the
   * reason of an aborted signal.
   * @example
   * ```ts
   * for await (const line of client.submit([signedTransaction])) {
   *   if (line.success) console.log("broadcast", line.txHash);
   *   else console.log(line.error.code, line.error.reason, line.error.message);
   * }
   * ```
   */
  submit(transactions: readonly string[], options?: SubmitOptions): AsyncIterable<ResultLine>;
  /**
   * Submits any number of signed transactions: in requests of the size and at the rate that the service allows this key, again
   * where that may help, and from where it ended if there is a journal. Nothing is sent twice, since the same signed bytes are
   * the same submission (D18): a call that was killed is repeated as it was.
   *
   * Sign inside a function, so that a repeated call uses the bytes of the journal, and signs no second transaction of the same
   * purpose with another nonce.
   * @param transactions the signed bytes as 0x hex, or a function that signs them. The order of one sender's nonces is kept.
   * @returns the outcome of each transaction. A failure is a result, not an exception; one that a retry might still mend is not
   * in the journal, so a repeated call tries it again.
   * @throws {@link WaiverClientError}: `JournalError` for a journal of other transactions or of another chain, or one that is
   * damaged; the error of a request that failed for good. The reason of an aborted signal.
   * @example
   * ```ts
   * import { fileJournal } from "@gas-waiver/client/node";
   *
   * const journal = fileJournal("airdrop.journal");
   * const { succeeded, failed } = await client.submitAll(() => [signedTransaction], { journal });
   * ```
   */
  submitAll(transactions: SubmitAllTransactions, options?: SubmitAllOptions): Promise<SubmitAllResult>;
  /**
   * Makes a dry run of a submit: tells for each signed transaction whether the service would accept it now, and if not, which
   * rule refuses it. Nothing is submitted or counted; checks have a rate limit of their own.
   * @param transactions the signed bytes as 0x hex.
   * @returns one line a transaction, in their order.
   * @throws {@link WaiverClientError}, or the reason of an aborted signal.
   * @example
   * ```ts
   * const [line] = await client.check([signedTransaction], { simulate: true });
   * if (line && !line.success) console.log(line.error.reason);
   * ```
   */
  check(transactions: readonly string[], options?: CheckOptions): Promise<CheckLine[]>;
  /**
   * Reads what this key may send: contracts and methods, of all waivers together and of each alone, and the limits
   * of the key.
   * @throws {@link WaiverClientError}, or the reason of an aborted signal.
   * @example
   * ```ts
   * const { allowedTargets, limits } = await client.policy();
   * ```
   */
  policy(options?: PolicyOptions): Promise<KeyPolicy>;
  /**
   * Reads the record of a submission of this key, or for a day that of a refused line. `"refused" in record` tells which.
   * @param id the `id` of its line, or the hash of its transaction. A publishable key sees submissions by hash alone, and a
   * refused line is known by its `id` alone.
   * @throws {@link WaiverClientError} (`RequestRefusedError` of status 404 if there is no such record), or the
   * reason of an aborted signal.
   * @example
   * ```ts
   * const { state, error } = await client.status(id);
   * ```
   */
  status(id: string, options?: StatusOptions): Promise<AnySubmissionRecord>;
  /**
   * Iterates over the submissions of this key to which the whole filter applies, newest first. Pages are read when
   * the iteration reaches them; leaving the loop early reads no more. Submissions made meanwhile are not included,
   * and none comes twice.
   * @throws {@link WaiverClientError} (`RequestRefusedError` of status 400 for an invalid filter), or the reason of
   * an aborted signal.
   * @example
   * ```ts
   * for await (const record of client.list({ states: ["failed"] })) {
   *   console.log(record.id, record.error?.reason);
   * }
   * ```
   */
  list(options?: ListOptions): AsyncIterable<SubmissionRecord>;
  /**
   * Reads one page of {@link list}, for callers that keep the cursor themselves. Only a page without `next` is the
   * last, however few records it has.
   * @throws {@link WaiverClientError} (`RequestRefusedError` of status 400 for an invalid filter), or the reason of
   * an aborted signal.
   * @example
   * ```ts
   * const first = await client.listPage({ pageSize: 20 });
   * const second = first.next && (await client.listPage({ pageSize: 20, cursor: first.next }));
   * ```
   */
  listPage(options?: ListPageOptions): Promise<SubmissionPage>;
  /**
   * Waits until a submission is included in a block, or broadcast, also across a restart of the service. It has no
   * time limit of its own: `signal: AbortSignal.timeout(60_000)` is one.
   * @param id the `id` of its line, or the hash of its transaction. A publishable key sees submissions by hash alone.
   * @returns its record.
   * @throws SubmissionFailedError with the record, if it failed, was refused or (with `included`) its call reverted; {@link
   * WaiverClientError} if the record cannot be read; or the reason of an aborted signal.
   * @example
   * ```ts
   * const record = await client.wait(id, { signal: AbortSignal.timeout(60_000) });
   * console.log("in block", record.blockNumber);
   * ```
   */
  wait(id: string, options?: WaitOptions): Promise<SubmissionRecord>;
  /**
   * Tells whether the service is up, its version and its chain. It needs no API key.
   * @throws {@link WaiverClientError}, or the reason of an aborted signal.
   * @example
   * ```ts
   * const { version, chainId } = await client.health();
   * ```
   */
  health(options?: HealthOptions): Promise<Health>;
  /**
   * Tells whether the service can do its work, and if not, what it lacks. For a service that is not ready, it
   * returns the readiness and throws nothing.
   * @throws {@link WaiverClientError}, or the reason of an aborted signal.
   * @example
   * ```ts
   * const { ready } = await client.ready();
   * console.log(ready ? "ready" : "not ready");
   * ```
   */
  ready(options?: ReadyOptions): Promise<Readiness>;
}

/**
 * Creates a client of one gas-waiver service. It holds no connection, so there is nothing to close.
 * @throws InvalidArgumentError if the address or the key cannot be used; the key is not in the message.
 * @example
 * ```ts
 * import { createWaiverClient } from "@gas-waiver/client";
 *
 * const client = createWaiverClient({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * for await (const line of client.submit([signedTransaction])) {
 *   if (line.success) await client.wait(line.id);
 * }
 * ```
 */
export function createWaiverClient(options: WaiverClientOptions): WaiverClient {
  const connection = createConnection(options);
  return {
    submit: (transactions, submitOptions) => submit(connection, transactions, submitOptions),
    submitAll: (transactions, allOptions) => submitAll(connection, transactions, allOptions),
    check: (transactions, checkOptions) => check(connection, transactions, checkOptions),
    policy: (policyOptions) => policy(connection, policyOptions),
    status: (id, statusOptions) => status(connection, id, statusOptions),
    list: (listOptions) => list(connection, listOptions),
    listPage: (pageOptions) => listPage(connection, pageOptions),
    wait: (id, waitOptions) => wait(connection, id, waitOptions),
    health: (healthOptions) => health(connection, healthOptions),
    ready: (readyOptions) => ready(connection, readyOptions),
  };
}
