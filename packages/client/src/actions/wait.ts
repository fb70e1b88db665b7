import type { SubmissionRecord, Wait } from "@gas-waiver/protocol/wire";
import { SubmissionFailedError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { pause } from "../http/pause.js";
import type { RetryOptions } from "../http/retry.js";
import { status } from "./status.js";

export interface WaitOptions {
  /** `included` in a block (the default) and not reverted, or `broadcast`: the chain's node has taken it. */
  readonly until?: Wait;
  /** Between two looks at the record, in milliseconds; 500 by default. */
  readonly pollMs?: number;
  /** Ends the waiting, and nothing else: {@link AbortSignal.timeout} is a time limit. There is none by itself. */
  readonly signal?: AbortSignal;
  /** How often in a row the record may be out of reach; 10 attempts unless told otherwise, about half a minute. */
  readonly retry?: RetryOptions;
}

/**
 * Waits until a submission has come as far as asked for, also over a restart of the service.
 * @returns its record.
 * @throws SubmissionFailedError with the record, if it failed or (with `included`) its call reverted;
 * {@link WaiverClientError} if the record cannot be read, or the reason of an aborted signal.
 */
export async function wait(
  connection: Connection,
  id: string,
  { until = "included", pollMs = 500, signal, retry = { attempts: 10 } }: WaitOptions = {},
): Promise<SubmissionRecord> {
  for (;;) {
    const record = await status(connection, id, { retry, ...(signal && { signal }) });
    if (hasCome(record, until)) return record;
    await pause(pollMs, signal);
  }
}

/** @throws SubmissionFailedError if it never will. */
function hasCome(record: SubmissionRecord, until: Wait): boolean {
  const { id, state, error, reverted } = record;
  // D16: a call that reverted was broadcast all the same, and did not succeed.
  if (state === "failed" || (reverted && until === "included")) {
    const why = error ?? { code: "BROADCAST_FAILED", message: "the submission failed" };
    throw new SubmissionFailedError(id, why, record);
  }
  return state === "included" || (state === "broadcast" && until === "broadcast");
}
