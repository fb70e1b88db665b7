import type { Failure } from "../model/submission.js";
import type { QueuedSubmission } from "../store/lanes/laneSnapshot.js";

/** What a lane is to do with the submissions of one sender (D20). */
export interface SenderPlan {
  /** To be sent now, in the order of the sender's nonces. */
  readonly ready: readonly QueuedSubmission[];
  /** Their nonce is used already: by themselves, or by another transaction. The chain tells. */
  readonly late: readonly QueuedSubmission[];
  /** Ahead of their turn. */
  readonly early: readonly QueuedSubmission[];
  readonly failed: readonly (Failure & { readonly id: string })[];
}

/**
 * Sorts what one sender has queued, in the order of its nonces.
 * @param next the account's next nonce on the chain.
 * @param underWay the sender's nonces that are signed or broadcast.
 */
export function planSender(
  queued: readonly QueuedSubmission[],
  next: bigint,
  underWay: ReadonlySet<bigint>,
  nonceGapTimeoutMs: number,
): SenderPlan {
  const ready: QueuedSubmission[] = [];
  const late: QueuedSubmission[] = [];
  const early: QueuedSubmission[] = [];
  const failed: (Failure & { id: string })[] = [];
  const after = (nonce: bigint) => {
    let turn = nonce;
    while (underWay.has(turn)) turn++;
    return turn;
  };
  let turn = after(next);
  for (const submission of queued) {
    const { id, senderNonce, ageMs } = submission;
    if (senderNonce < next) {
      late.push(submission);
    } else if (senderNonce === turn) {
      ready.push(submission);
      turn = after(turn + 1n);
    } else if (ageMs < nonceGapTimeoutMs) {
      early.push(submission);
    } else {
      const message = `nonce ${senderNonce} is ahead of the sender's next, ${turn}, which did not come within ${nonceGapTimeoutMs} ms`;
      failed.push({ id, reason: "NONCE_GAP", message });
    }
  }
  return { ready, late, early, failed };
}

/** The lowest `count` waiver nonces from `first` on that are not taken. */
export function freeNonces(first: bigint, taken: ReadonlySet<bigint>, count: number): bigint[] {
  const free: bigint[] = [];
  for (let nonce = first; free.length < count; nonce++) if (!taken.has(nonce)) free.push(nonce);
  return free;
}
