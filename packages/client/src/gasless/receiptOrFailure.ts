import { wait } from "../actions/wait.js";
import { SubmissionFailedError } from "../errors.js";
import type { Connection } from "../http/connection.js";

/** The longest wait for a receipt, in ms, as in viem. */
export const RECEIPT_TIMEOUT_MS = 180_000;

/**
 * Waits for a receipt and for the record that says that there will be none, whichever speaks first. A record that cannot be
 * read leaves it to the receipt.
 */
export async function receiptOrFailure<Receipt>(
  connection: Connection,
  txHash: string,
  receipt: Promise<Receipt>,
  timeoutMs = RECEIPT_TIMEOUT_MS,
): Promise<Receipt> {
  const ending = new AbortController();
  const { signal } = ending;
  const message = `${txHash} is in no block after ${timeoutMs} ms; it may still come, so wait again`;
  const tooLate = new SubmissionFailedError(txHash, { code: "TIMEOUT", reason: "NOT_INCLUDED", message });
  const timer = setTimeout(() => ending.abort(tooLate), timeoutMs);
  const failure = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    wait(connection, txHash, { signal }).catch((error: unknown) => {
      // A call that reverted has a receipt, too.
      if (error instanceof SubmissionFailedError && error.record?.state !== "included") reject(error);
    });
  });
  try {
    return await Promise.race([receipt, failure]);
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
}
