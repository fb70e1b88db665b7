import type { AnySubmissionRecord, SubmissionRecord, Wait } from "@gas-waiver/protocol/wire";
import { SubmissionFailedError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { pause } from "../http/pause.js";
import type { RetryOptions } from "../http/retry.js";
import { status } from "./status.js";

/** Options of {@link wait}. */
export interface WaitOptions {
  /** `included` in a block (the default) and not reverted, or `broadcast`: a node of the chain has it. */
  readonly until?: Wait;
  /** The pause between two reads of the record, in milliseconds; 500 by default. */
  readonly pollMs?: number;
  /** Ends the waiting, and nothing else. {@link AbortSignal.timeout} sets a time limit; there is none by default. */
  readonly signal?: AbortSignal;
  /** Attempts in a row to read the record; 10 by default, about half a minute. */
  readonly retry?: RetryOptions;
}

/**
 * Waits until a submission is included in a block, or broadcast, also across a restart of the service. It has no
 * time limit of its own: `signal: AbortSignal.timeout(60_000)` is one.
 * @param id the `id` of its line, or the hash of its transaction. A publishable key sees submissions by hash alone.
 * @returns its record.
 * @throws SubmissionFailedError with the record, if it failed, was refused or (with `included`) its call reverted; {@link
 * WaiverClientError} if the record cannot be read; or the reason of an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const { txHash } = await wait(connection, id, { until: "broadcast" });
 * ```
 */
export async function wait(
  connection: Connection,
  id: string,
  { until = "included", pollMs = 500, signal, retry = { attempts: 10 } }: WaitOptions = {},
): Promise<SubmissionRecord> {
  for (;;) {
    const record = await status(connection, id, { retry, ...(signal && { signal }) });
    if (hasReached(record, until)) return record;
    await pause(pollMs, signal);
  }
}

/**
 * Tells whether a submission has reached the stage `until`.
 * @throws SubmissionFailedError if it never will.
 */
export function hasReached(record: AnySubmissionRecord, until: Wait): record is SubmissionRecord {
  const { id, state, error } = record;
  // D16: a transaction whose call reverted was broadcast, and did not succeed.
  if ("refused" in record || state === "failed" || (record.reverted && until === "included")) {
    const why = error ?? { code: "BROADCAST_FAILED", message: "the submission failed" };
    throw new SubmissionFailedError(id, why, record);
  }
  return state === "included" || (state === "broadcast" && until === "broadcast");
}
