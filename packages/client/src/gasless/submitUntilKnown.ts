import { detailsOf } from "@gas-waiver/protocol/wire";
import { isSurelyNotAccepted, leavingInDoubt, mayPassLater } from "../actions/acceptance.js";
import { submit } from "../actions/submit.js";
import {
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
  SubmissionFailedError,
  WaiverClientError,
} from "../errors.js";
import type { Connection } from "../http/connection.js";
import { pause } from "../http/pause.js";
import { delayBeforeRetry, isTemporary, type RetryOptions } from "../http/retry.js";

/** A signed transaction that is to be sent until its outcome is known. */
export interface UntilKnown {
  /** 0x hex. */
  readonly signed: string;
  readonly idempotencyKey?: string | undefined;
  /** An earlier request with these bytes has had no answer. */
  readonly isInDoubt: boolean;
  /** The time on `performance.now()` until which doubts are followed. */
  readonly endsAt: number;
  /** Attempts for what the service has surely not accepted; one by default. */
  readonly retry?: RetryOptions | undefined;
}

/** The part of the time that is left after which a request without an answer is cut, and sent again. */
const ATTEMPT_SHARE = 0.5;
const ONCE: RetryOptions = { attempts: 1 };

/**
 * Sends one transaction, the same bytes each time, until the service has told its outcome:
 *
 * ```
 *          ┌── no answer, TIMEOUT, a failed store ──► in doubt ──┐ again, until `endsAt`
 *  sent ───┼── a failure that another request with these bytes, ─┘
 *          │   still on its way, might not share (only in doubt)
 *          ├── success ─────────────► returned
 *          └── any other failure ───► thrown, with an empty `inDoubt`
 * ```
 * @throws {@link WaiverClientError}; what is still in doubt when the time is over has the bytes in `inDoubt`.
 */
export async function submitUntilKnown(
  connection: Connection,
  { signed, idempotencyKey, isInDoubt, endsAt, retry = ONCE }: UntilKnown,
): Promise<{ readonly id: string; readonly txHash: string }> {
  let inDoubt = isInDoubt;
  /** The latest failure that was heard of: the last attempt may have had no time for one. */
  let heard: unknown;
  for (let failed = 1; ; failed++) {
    const late = new Error("the answer did not come in time", { cause: heard });
    try {
      const cutMs = (endsAt - performance.now()) * ATTEMPT_SHARE;
      return await submitOnce(connection, { signed, idempotencyKey, cutMs, late });
    } catch (thrown) {
      if (Object(thrown).cause !== late) heard = thrown;
      inDoubt = leavesInDoubt(thrown, inDoubt);
      // The application's own functions, such as that of the header fields, throw what they like.
      const isOwn = thrown instanceof WaiverClientError;
      const error = isOwn || !inDoubt ? thrown : new StreamEndedError([0], { cause: thrown });
      const remainingMs = endsAt - performance.now();
      const isWorthwhile = inDoubt
        ? remainingMs > 0 && !isOfAnotherServer(error)
        : failed < retry.attempts && isTemporary(error);
      if (!isWorthwhile) throw inDoubt ? leavingInDoubt(error, [signed], [0]) : error;
      const delayMs = delayBeforeRetry(error, failed, retry);
      await pause(inDoubt ? Math.min(delayMs, remainingMs) : delayMs, undefined);
    }
  }
}

/** Sends once, and waits for the line that long; `late` is the cause of the error behind it. */
async function submitOnce(
  connection: Connection,
  {
    signed,
    idempotencyKey,
    cutMs,
    late,
  }: Pick<UntilKnown, "signed" | "idempotencyKey"> & { readonly cutMs: number; readonly late: Error },
): Promise<{ readonly id: string; readonly txHash: string }> {
  const cut = new AbortController();
  const end = () => cut.abort(new StreamEndedError([0], { cause: late }));
  const timer = setTimeout(end, Math.max(cutMs, 1));
  const options = { signal: cut.signal, ...(idempotencyKey !== undefined && { idempotencyKey }) };
  try {
    for await (const line of submit(connection, [signed], options)) {
      if (line.success) return line;
      throw new SubmissionFailedError(line.id, line.error);
    }
    throw new StreamEndedError([0]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Tells whether the bytes may still be, or come to be, a submission that executes.
 * @param before whether an earlier request with them has had no answer, and may still be on its way.
 */
function leavesInDoubt(error: unknown, before: boolean): boolean {
  if (!(error instanceof WaiverClientError)) return before;
  // The name has gone to other bytes, so no request with these under it was taken or will be.
  if (error instanceof RequestRefusedError && error.reason === "IDEMPOTENCY_KEY_REUSED") return false;
  if (!(error instanceof SubmissionFailedError)) return before || !isSurelyNotAccepted(error);
  // D17: only the waiting has ended.
  if (error.code === "TIMEOUT") return true;
  return before && mightEndOtherwise(error);
}

/** Tells whether a request with the same bytes that comes later may end in another way than this failure. */
function mightEndOtherwise(error: SubmissionFailedError): boolean {
  const used = detailsOf(error, "NONCE_TOO_LOW");
  // Named, the other user of the nonce proves that these bytes will never execute.
  if (used) return used.usedBy === undefined && used.submission === undefined;
  return error.reason === "NONCE_CONFLICT" || error.reason === "NONCE_GAP" || mayPassLater(error);
}

/** A proxy, or another server at this address, refuses the next request in the same way. */
function isOfAnotherServer(error: unknown): boolean {
  return error instanceof MalformedAnswerError && error.status >= 400 && error.status < 429;
}
