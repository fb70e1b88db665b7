import { bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import {
  MIN_READ_PER_SENDER,
  type QueuedSender,
  type QueuedSubmission,
} from "../../store/lanes/queue/laneSnapshot.js";
import { parkQueued, unparkNext, type WaitingSender } from "../../store/transitions/parkQueued.js";
import { postponeQueued } from "../../store/transitions/postponeQueued.js";
import type { LaneContext } from "../context.js";
import type { SenderPlan } from "./plan.js";

// Submissions that are ahead of their turn wait beside the queue, so that they take no place in a step. Of each sender only
// the first is read again after a pause. The rest are parked, and read with the first or with a new submission of the
// sender. A step that takes submissions out of the queue unparks the next one.

/** The pause before a submission that is ahead of its turn is planned again. */
const EARLY_MS = 250;

/** The pause of what cannot be signed now although nothing of its sender is missing. */
const HELD_BACK_MS = 1_000;

/** A snapshot may have left out higher nonces of this sender. */
const mayHaveUnread = ({ queued }: QueuedSender) => queued.length >= MIN_READ_PER_SENDER;

/**
 * Postpones or parks the submissions that cannot be sent now.
 * @param plans in the order of the senders.
 * @param failed the ids of those that have failed.
 * @returns the number of submissions that the lane does not see for a while.
 */
export async function postponeWaiting(
  held: HeldLane,
  senders: readonly QueuedSender[],
  plans: readonly SenderPlan[],
  failed: ReadonlySet<string>,
  { store }: Pick<LaneContext, "store">,
): Promise<number> {
  const postponed: string[] = [];
  const parked: WaitingSender[] = [];
  plans.forEach((plan, i) => {
    const { early, late } = plan;
    const sender = senders[i];
    const first = lowestNonce(early);
    // A late one whose outcome is not confirmed yet stays queued, and so does a failed one with an open wrapper.
    postponed.push(...[...late, ...plan.failed].map(({ id }) => id).filter((id) => !failed.has(id)));
    if (sender === undefined || first === undefined) return;
    postponed.push(first.id);
    if (early.length > 1 || mayHaveUnread(sender))
      parked.push({ sender: sender.sender, nonce: first.senderNonce });
  });
  const changed = await postponeQueued(store, held, postponed, EARLY_MS, true);
  return changed.length + (await parkQueued(store, held, parked, true)).length;
}

/**
 * Postpones the lowest of each sender, and parks the rest, where submissions cannot be signed for now for another reason than want of
 * room: no node tells the sender's nonce, the custody does not sign, or blocks have left such wrappers out. At the head of the
 * queue, they would be all that steps read.
 * @returns the number of submissions that the lane does not see for a while.
 */
export async function postponeHeldBack(
  held: HeldLane,
  heldBack: readonly QueuedSubmission[],
  { store }: Pick<LaneContext, "store">,
): Promise<number> {
  const lowest = new Map<string, QueuedSubmission>();
  for (const one of heldBack) {
    const sender = bytesToHex(one.sender);
    const known = lowest.get(sender);
    if (known === undefined || one.senderNonce < known.senderNonce) lowest.set(sender, one);
  }
  const first = [...lowest.values()];
  const ids = first.map(({ id }) => id);
  const parked = first.map(({ sender, senderNonce: nonce }) => ({ sender, nonce }));
  const changed = await postponeQueued(store, held, ids, HELD_BACK_MS);
  return changed.length + (await parkQueued(store, held, parked)).length;
}

/**
 * Unparks the next submission of each sender of which some submissions have left the queue.
 * @param leftQueue the ids of those that were signed or have failed.
 */
export async function unparkNextOfSenders(
  held: HeldLane,
  senders: readonly QueuedSender[],
  leftQueue: ReadonlySet<string>,
  { store, routing }: Pick<LaneContext, "store" | "routing">,
): Promise<void> {
  const hasParkedNext = (sender: QueuedSender) => {
    const { queued } = sender;
    const hasLeft = ({ id }: QueuedSubmission) => leftQueue.has(id);
    if (!queued.some(hasLeft)) return false;
    const next =
      queued.find((submission) => !hasLeft(submission)) ??
      (mayHaveUnread(sender) ? queued.at(-1) : undefined);
    // Where policies differ, the next one may be in another lane.
    return next ? next.isWaiting : routing.policiesDiffer();
  };
  await unparkNext(
    store,
    held,
    senders.filter(hasParkedNext).map(({ sender }) => sender),
  );
}

function lowestNonce(early: readonly QueuedSubmission[]): QueuedSubmission | undefined {
  return early.reduce<QueuedSubmission | undefined>(
    (lowest, submission) =>
      lowest === undefined || submission.senderNonce < lowest.senderNonce ? submission : lowest,
    undefined,
  );
}
