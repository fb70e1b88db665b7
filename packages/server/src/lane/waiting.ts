import type { HeldLane } from "../store/lanes/heldLane.js";
import {
  MIN_READ_PER_SENDER,
  type QueuedSender,
  type QueuedSubmission,
} from "../store/lanes/laneSnapshot.js";
import { parkQueued, unparkNext, type WaitingSender } from "../store/transitions/parkQueued.js";
import { postponeQueued } from "../store/transitions/postponeQueued.js";
import type { LaneContext } from "./context.js";
import type { SenderPlan } from "./plan.js";

// Submissions that are ahead of their turn wait beside the queue, so that they take nobody's place in a step. Of each
// sender only the first is looked at now and then. The others are parked: they come with it, or with a new submission of
// their sender. Whoever takes submissions out of the queue wakes the next one.

/** The pause before a submission that is ahead of its turn is planned again. */
const EARLY_MS = 250;

/** A snapshot may have left out higher nonces of this sender. */
const mayHaveMore = ({ queued }: QueuedSender) => queued.length >= MIN_READ_PER_SENDER;

/**
 * Puts aside what cannot go now.
 * @param plans in the order of the senders.
 * @param failed the ids of those that have failed.
 * @returns the number of submissions that the lane does not see for a while.
 */
export async function putAside(
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
    const first = lowest(early);
    // A late one whose outcome is not confirmed yet stays queued, and so does a failed one with an open wrapper.
    postponed.push(...[...late, ...plan.failed].map(({ id }) => id).filter((id) => !failed.has(id)));
    if (sender === undefined || first === undefined) return;
    postponed.push(first.id);
    const hasOthers = early.some((one) => one !== first && !one.isWaiting);
    if (hasOthers || mayHaveMore(sender)) parked.push({ sender: sender.sender, nonce: first.senderNonce });
  });
  const changed = await postponeQueued(store, held, postponed, EARLY_MS);
  return changed.length + (await parkQueued(store, held, parked)).length;
}

/**
 * Wakes the next submission of each sender of which some have left the queue and the next one is parked.
 * @param gone the ids of those that were signed or have failed.
 */
export async function wakeNext(
  held: HeldLane,
  senders: readonly QueuedSender[],
  gone: ReadonlySet<string>,
  { store }: Pick<LaneContext, "store">,
): Promise<void> {
  const isStranded = (sender: QueuedSender) => {
    const { queued } = sender;
    const isGone = ({ id }: QueuedSubmission) => gone.has(id);
    if (!queued.some(isGone)) return false;
    const next = queued.find((one) => !isGone(one)) ?? (mayHaveMore(sender) ? queued.at(-1) : undefined);
    return next?.isWaiting === true;
  };
  await unparkNext(
    store,
    held,
    senders.filter(isStranded).map(({ sender }) => sender),
  );
}

function lowest(early: readonly QueuedSubmission[]): QueuedSubmission | undefined {
  return early.reduce<QueuedSubmission | undefined>(
    (least, one) => (least === undefined || one.senderNonce < least.senderNonce ? one : least),
    undefined,
  );
}
