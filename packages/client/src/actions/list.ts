import {
  encodeSubmissionsQuery,
  parseSubmissionPage,
  SUBMISSIONS_ROUTE,
  type SubmissionFilter,
  type SubmissionPage,
  type SubmissionRecord,
  type SubmissionsQuery,
} from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { readAnswer } from "../http/readAnswer.js";
import { type RetryOptions, withRetries } from "../http/retry.js";

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
export function listPage(
  connection: Connection,
  { pageSize, signal, retry = { attempts: 3 }, ...filter }: ListPageOptions = {},
): Promise<SubmissionPage> {
  const query = { ...filter, ...(pageSize !== undefined && { limit: pageSize }) };
  return withRetries(() => readPage(connection, query, signal), retry, signal);
}

async function readPage(
  connection: Connection,
  query: Partial<SubmissionsQuery>,
  signal: AbortSignal | undefined,
): Promise<SubmissionPage> {
  const response = await connection.request(SUBMISSIONS_ROUTE, {
    query: encodeSubmissionsQuery(query),
    signal,
  });
  return await readAnswer(response, parseSubmissionPage, "a list of submissions", signal);
}
