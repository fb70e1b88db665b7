import type { Failure } from "../../model/submission/submission.js";
import type { QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";

/** The next step of each queued submission of one sender (D20). */
export interface SenderPlan {
  /** Submissions to send now, in the order of the sender's nonces. */
  readonly ready: readonly QueuedSubmission[];
  /** Submissions whose nonce is used: by themselves, or by another transaction. The chain tells which. */
  readonly late: readonly QueuedSubmission[];
  /** Submissions ahead of their turn. */
  readonly early: readonly QueuedSubmission[];
  /** Submissions that waited too long for the one before them. */
  readonly failed: readonly GapFailure[];
}

/** The failure of a submission for a nonce of its sender that nothing has. */
export type GapFailure = Failure & { readonly id: string; readonly missing: bigint };

/**
 * Plans the submissions that one sender has queued.
 * @param queued in the order of the sender's nonces.
 * @param next the account's next nonce on the chain.
 * @param inFlight the sender's nonces that are signed or broadcast.
 */
export function planSender(
  queued: readonly QueuedSubmission[],
  next: bigint,
  inFlight: ReadonlySet<bigint>,
  nonceGapTimeoutMs: number,
): SenderPlan {
  const ready: QueuedSubmission[] = [];
  const late: QueuedSubmission[] = [];
  const early: QueuedSubmission[] = [];
  const failed: GapFailure[] = [];
  const skipInFlight = (nonce: bigint) => {
    let turn = nonce;
    while (inFlight.has(turn)) turn++;
    return turn;
  };
  let turn = skipInFlight(next);
  let waitsForOwn = false;
  for (const submission of queued) {
    const { id, senderNonce, ageMs, isSetAside } = submission;
    if (senderNonce < next) {
      late.push(submission);
    } else if (senderNonce === turn && isSetAside) {
      // The submission is ready again after its pause, and the sender's later ones wait until then.
      waitsForOwn = true;
    } else if (senderNonce === turn) {
      ready.push(submission);
      turn = skipInFlight(turn + 1n);
    } else if (waitsForOwn || ageMs < nonceGapTimeoutMs) {
      early.push(submission);
    } else {
      const message = `nonce ${senderNonce} is ahead of the sender's next, ${turn}, which did not come within ${nonceGapTimeoutMs} ms`;
      const values = { nonce: senderNonce.toString(), missing: turn.toString(), missingHolder: "unknown" };
      failed.push({ id, missing: turn, reason: "NONCE_GAP", message, values });
    }
  }
  return { ready, late, early, failed };
}
