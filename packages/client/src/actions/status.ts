import { parseSubmissionRecord, ROUTES, type SubmissionRecord } from "@gas-waiver/protocol/wire";
import { MalformedAnswerError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { type RetryOptions, withRetries } from "../http/retry.js";

export interface StatusOptions {
  readonly signal?: AbortSignal;
  /** Reading changes nothing, so it is tried 3 times unless told otherwise. */
  readonly retry?: RetryOptions;
}

/**
 * What became of a submission of this key, by the `id` of its line. Only what was accepted has a record.
 * @throws {@link WaiverClientError} (`RequestRefusedError` of status 404 if there is no such submission), or the
 * reason of an aborted signal.
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
  const path = ROUTES.submission.path.replace(":id", encodeURIComponent(id));
  const response = await connection.request({ ...ROUTES.submission, path }, { signal });
  try {
    return parseSubmissionRecord(await response.json());
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    throw new MalformedAnswerError(response.status, "the answer is not the record of a submission", {
      cause,
    });
  }
}
