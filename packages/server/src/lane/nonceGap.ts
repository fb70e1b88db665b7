import { fetchNonces } from "../chain/nonces.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { QueuedSender, QueuedSubmission } from "../store/lanes/laneSnapshot.js";
import { findLowestNoncesElsewhere } from "../store/lanes/lowestNoncesElsewhere.js";
import type { LaneContext } from "./lane.js";
import { planSender, type SenderPlan } from "./plan.js";

/**
 * Nothing has failed for a missing nonce (D20) while a submission with an earlier one is under way in another lane, or
 * waits for one: where the waivers' policies differ, a sender's transactions have to wait for each other on the chain.
 * @param senders whose plans these are, in the same order.
 */
export async function excuseNonceGaps(
  held: HeldLane,
  senders: readonly QueuedSender[],
  plans: readonly SenderPlan[],
  dependencies: Pick<LaneContext, "store" | "chain" | "options">,
): Promise<readonly SenderPlan[]> {
  const failing = failingOf(senders, plans);
  if (failing.length === 0) return plans;
  const lowest = await findLowestNoncesElsewhere(dependencies.store, held, {
    senders: failing.map(({ sender }) => sender),
    except: failing.flatMap(({ queued }) => queued.map(({ id }) => id)),
  });
  const open = plans.map((plan, i) => {
    const sender = senders[i];
    const before = sender && lowest.get(Buffer.from(sender.sender).toString("hex"));
    if (sender === undefined || before === undefined) return plan;
    return spare(plan, sender.queued, ({ senderNonce }) => before < senderNonce);
  });
  return spareUsed(held, senders, open, dependencies);
}

/**
 * What was included between the chain's answer and the store's is in neither. So the chain has the last word on what
 * seems to be missing; what is not goes the next time.
 */
async function spareUsed(
  { waiver }: HeldLane,
  senders: readonly QueuedSender[],
  plans: readonly SenderPlan[],
  { chain, options }: Pick<LaneContext, "chain" | "options">,
): Promise<readonly SenderPlan[]> {
  const failing = failingOf(senders, plans).map(({ sender }) => sender);
  if (failing.length === 0) return plans;
  const nonces = await fetchNonces(chain, waiver, failing);
  return plans.map((plan, i) => {
    const sender = senders[i];
    const next = sender && nonces.of(sender.sender);
    if (sender === undefined || next === undefined) return plan;
    const { failed } = planSender(sender.queued, next, sender.inFlightNonces, options.nonceGapTimeoutMs);
    const missing = new Set(failed.map(({ id }) => id));
    return spare(plan, sender.queued, ({ id }) => !missing.has(id));
  });
}

function failingOf(senders: readonly QueuedSender[], plans: readonly SenderPlan[]): QueuedSender[] {
  return senders.filter((_, i) => (plans[i]?.failed.length ?? 0) > 0);
}

/** Of what has failed, these are early instead. */
function spare(
  plan: SenderPlan,
  queued: readonly QueuedSubmission[],
  isSpared: (submission: QueuedSubmission) => boolean,
): SenderPlan {
  const failed = new Set(plan.failed.map(({ id }) => id));
  const spared = queued.filter((submission) => failed.has(submission.id) && isSpared(submission));
  const ids = new Set(spared.map(({ id }) => id));
  return {
    ...plan,
    early: [...plan.early, ...spared],
    failed: plan.failed.filter(({ id }) => !ids.has(id)),
  };
}
