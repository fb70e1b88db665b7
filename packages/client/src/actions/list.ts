import {
  encodeSubmissionsQuery,
  parseSubmissionPage,
  ROUTES,
  type SubmissionFilter,
  type SubmissionPage,
  type SubmissionRecord,
  type SubmissionsQuery,
} from "@gas-waiver/protocol/wire";
import { MalformedAnswerError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { type RetryOptions, withRetries } from "../http/retry.js";

export interface ListOptions extends SubmissionFilter {
  /** Records asked for at once: 1 to 200, 50 unless told otherwise. It does not end the list. */
  readonly pageSize?: number;
  readonly signal?: AbortSignal;
  /** Reading changes nothing, so each page is tried 3 times unless told otherwise. */
  readonly retry?: RetryOptions;
}

export interface ListPageOptions extends ListOptions {
  /** `next` of the page before; the first page without it. The filter must be the same. */
  readonly cursor?: string;
}

/**
 * The submissions of this key for which all of the filter holds, newest first. Pages are read as the iteration comes
 * to them: leaving the loop early reads no more. What is submitted meanwhile is not in it, and nothing is in it twice.
 * @throws {@link WaiverClientError} (`RequestRefusedError` of status 400 for a filter that cannot be), or the reason
 * of an aborted signal.
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
 * One page of {@link list}, for those who keep the place themselves. Only a page without `next` is the last, however
 * few records one has.
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
  const response = await connection.request(ROUTES.submissions, {
    query: encodeSubmissionsQuery(query),
    signal,
  });
  try {
    return parseSubmissionPage(await response.json());
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    throw new MalformedAnswerError(response.status, "the answer is not a list of submissions", { cause });
  }
}
