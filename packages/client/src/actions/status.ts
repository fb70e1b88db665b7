import { parseSubmissionRecord, SUBMISSION_ROUTE, type SubmissionRecord } from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { readAnswer } from "../http/readAnswer.js";
import { type RetryOptions, withRetries } from "../http/retry.js";

export type { SubmissionRecord } from "@gas-waiver/protocol/wire";

/** Options of {@link status}. */
export interface StatusOptions {
  readonly signal?: AbortSignal;
  /** Asks again when the service is away or busy: 3 attempts by default. Reading changes nothing. */
  readonly retry?: RetryOptions;
}

/**
 * Reads the record of a submission of this key. Only accepted transactions have one.
 * @param id the `id` of its line, or the hash of its transaction. A publishable key sees submissions by hash alone.
 * @throws {@link WaiverClientError} (`RequestRefusedError` of status 404 if there is no such submission), or the
 * reason of an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const record = await status(connection, id);
 * ```
 */
export function status(
  connection: Connection,
  id: string,
  { signal, retry = { attempts: 3 } }: StatusOptions = {},
): Promise<SubmissionRecord> {
  return withRetries(() => readRecord(connection, id, signal), retry, signal);
}

async function readRecord(
  connection: Connection,
  id: string,
  signal: AbortSignal | undefined,
): Promise<SubmissionRecord> {
  const path = SUBMISSION_ROUTE.path.replace(":id", encodeURIComponent(id));
  const response = await connection.request({ ...SUBMISSION_ROUTE, path }, { signal });
  return await readAnswer(response, parseSubmissionRecord, "the record of a submission", signal);
}
