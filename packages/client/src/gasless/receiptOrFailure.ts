import { type AnySubmissionRecord, status } from "../actions/status.js";
import { hasReached } from "../actions/wait.js";
import { InvalidArgumentError, SubmissionFailedError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { pause } from "../http/pause.js";

/** The longest wait for a receipt, in ms, as in viem. */
const RECEIPT_TIMEOUT_MS = 180_000;
/** The first and the longest pause between two reads, in ms. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;

/**
 * Reads the receipt of a transaction and the service's record in turn, until one of them tells how it ended. A submission fails
 * when another transaction takes its nonce, and no node tells that of a hash.
 * @param read returns the receipt, if there is one.
 * @throws SubmissionFailedError if the submission failed, or with the code `TIMEOUT` when the time is over; InvalidArgumentError
 * for what is no hash, such as the id of a submission.
 */
export async function receiptOrFailure<Receipt>(
  connection: Connection,
  txHash: string,
  read: () => Promise<Receipt | null | undefined>,
  timeoutMs = RECEIPT_TIMEOUT_MS,
): Promise<Receipt> {
  if (!/^0x[\da-f]{64}$/i.test(txHash))
    throw new InvalidArgumentError(`${txHash} is not the hash of a transaction: 0x and 64 hex digits`);
  const endsAt = performance.now() + timeoutMs;
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    // A node that fails, or has no receipt yet, may have it in a moment.
    const receipt = await read().catch(() => undefined);
    if (receipt) return receipt;
    await assertNotFailed(connection, txHash);
    if (performance.now() >= endsAt) throw tooLate(txHash, timeoutMs);
    await pause(Math.min(pauseMs, endsAt - performance.now()), undefined);
  }
}

/**
 * Reads the service's record once. One that cannot be read, such as that of another key, says nothing.
 * @throws SubmissionFailedError if it says that the submission failed.
 */
export async function assertNotFailed(
  connection: Connection,
  txHash: string,
): Promise<AnySubmissionRecord | undefined> {
  const record = await status(connection, txHash, { retry: { attempts: 1 } }).catch(() => undefined);
  if (record) hasReached(record, "broadcast");
  return record;
}

function tooLate(txHash: string, timeoutMs: number): SubmissionFailedError {
  const message = `${txHash} is in no block after ${timeoutMs} ms; it may still come, so wait again`;
  return new SubmissionFailedError(txHash, { code: "TIMEOUT", reason: "NOT_INCLUDED", message });
}
