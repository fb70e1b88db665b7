import {
  encodeSubmissionsQuery,
  parseSubmissionPage,
  SUBMISSIONS_ROUTE,
  type SubmissionFilter,
  type SubmissionPage,
  type SubmissionRecord,
} from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { readAnswer } from "../http/readAnswer.js";
import type { RetryOptions } from "../http/retry.js";

export type { SubmissionFilter, SubmissionPage } from "@gas-waiver/protocol/wire";

/** The filter of {@link list}, and its options. */
export interface ListOptions extends SubmissionFilter {
  /** The number of records read at once: 1 to 200, 50 by default. It does not limit the list. */
  readonly pageSize?: number;
  readonly signal?: AbortSignal;
  /** Reads a page again when the service is away or busy: 3 attempts a page by default. Reading changes nothing. */
  readonly retry?: RetryOptions;
}

/** The filter of {@link listPage}, and its options. */
export interface ListPageOptions extends ListOptions {
  /** The `next` of the page before, under the same filter. Absent: the first page. */
  readonly cursor?: string;
}

/**
 * Iterates over the submissions of this key to which the whole filter applies, newest first. Pages are read when
 * the iteration reaches them; leaving the loop early reads no more. Submissions made meanwhile are not included,
 * and none comes twice.
 * @throws {@link WaiverClientError} (`RequestRefusedError` of status 400 for an invalid filter), or the reason of
 * an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * for await (const record of list(connection, { states: ["failed"] })) console.log(record.id);
 * ```
 */
export async function* list(
  connection: Connection,
  options: ListOptions = {},
): AsyncGenerator<SubmissionRecord, void, undefined> {
  for (let cursor: string | undefined; ; ) {
    const page = await listPage(connection, { ...options, ...(cursor !== undefined && { cursor }) });
    yield* page.submissions;
    if (page.next === undefined) return;
    cursor = page.next;
  }
}

/**
 * Reads one page of {@link list}, for callers that keep the cursor themselves. Only a page without `next` is the
 * last, however few records it has.
 * @throws {@link WaiverClientError} (`RequestRefusedError` of status 400 for an invalid filter), or the reason of
 * an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const { submissions, next } = await listPage(connection, { pageSize: 20 });
 * ```
 */
export async function listPage(
  connection: Connection,
  { pageSize, signal, retry, ...filter }: ListPageOptions = {},
): Promise<SubmissionPage> {
  const query = encodeSubmissionsQuery({ ...filter, ...(pageSize !== undefined && { limit: pageSize }) });
  const answer = { query, parse: parseSubmissionPage, expected: "a list of submissions" };
  return readAnswer(connection, SUBMISSIONS_ROUTE, answer, { signal, retry });
}
