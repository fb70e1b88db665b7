import { type ChainNonces, fetchNonces } from "../../chain/nonces.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findLowestNoncesElsewhere } from "../../store/lanes/nonces/lowestNoncesElsewhere.js";
import type { QueuedSender, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import type { LaneContext } from "../context.js";
import { planSender, type SenderPlan } from "./plan.js";

/**
 * Turns failures by `NONCE_GAP` (D20) into waiting if the earlier nonce is not missing after all. The chain is asked again,
 * and then the store, because a node may take seconds to answer: meanwhile the nonce may have been accepted, or included. Another lane
 * may hold it, too: where the waivers' policies differ, a sender's transactions are in several lanes and wait for each other.
 * After a failover that may have lost commits, nothing fails for a gap until the chain has had blocks: the missing nonce may be
 * in a wrapper that the store has lost.
 * @param senders the owners of the plans, in the same order.
 */
export async function excuseNonceGaps(
  held: HeldLane,
  senders: readonly QueuedSender[],
  plans: readonly SenderPlan[],
  context: Pick<LaneContext, "store" | "chain" | "options">,
): Promise<readonly SenderPlan[]> {
  const failing = failingSenders(senders, plans);
  if (failing.length === 0) return plans;
  const nonces = await fetchNonces(
    context.chain,
    held.waiver,
    failing.map(({ sender }) => sender),
  );
  const planned = excuseUsedNonces(senders, plans, nonces, context.options.nonceGapTimeoutMs);
  const missing = failingSenders(senders, planned);
  const isStoreWhole =
    missing.length === 0 || (await context.store.moves.isChainPastMove(() => context.chain.blockNumber()));
  // The store comes last: what the chain has used since its answer has a row that is included.
  const lowest = await findLowestNoncesElsewhere(context.store, held, {
    senders: missing.map(({ sender }) => ({ sender, next: nonces.of(sender) ?? 0n })),
    except: missing.flatMap(({ queued }) => queued.map(({ id }) => id)),
  });
  return planned.map((plan, i) => {
    const sender = senders[i];
    if (sender !== undefined && !isStoreWhole) return excuse(plan, sender.queued, () => true);
    const elsewhere = sender && lowest.get(Buffer.from(sender.sender).toString("hex"));
    if (sender === undefined || elsewhere === undefined) return plan;
    return excuse(plan, sender.queued, ({ senderNonce }) => elsewhere < senderNonce);
  });
}

/** Excuses submissions whose earlier nonce is used by the chain's second answer. The next step plans them. */
function excuseUsedNonces(
  senders: readonly QueuedSender[],
  plans: readonly SenderPlan[],
  nonces: ChainNonces,
  nonceGapTimeoutMs: number,
): readonly SenderPlan[] {
  return plans.map((plan, i) => {
    const sender = senders[i];
    const next = sender && nonces.of(sender.sender);
    if (sender === undefined || plan.failed.length === 0) return plan;
    if (next === undefined) return excuse(plan, sender.queued, () => true);
    const { failed } = planSender(sender.queued, next, sender.inFlightNonces, nonceGapTimeoutMs);
    const missing = new Set(failed.map(({ id }) => id));
    return excuse(plan, sender.queued, ({ id }) => !missing.has(id));
  });
}

function failingSenders(senders: readonly QueuedSender[], plans: readonly SenderPlan[]): QueuedSender[] {
  return senders.filter((_, i) => (plans[i]?.failed.length ?? 0) > 0);
}

/** Moves failed submissions of a plan that are excused to the early ones. */
function excuse(
  plan: SenderPlan,
  queued: readonly QueuedSubmission[],
  isExcused: (submission: QueuedSubmission) => boolean,
): SenderPlan {
  const failed = new Set(plan.failed.map(({ id }) => id));
  const excused = queued.filter((submission) => failed.has(submission.id) && isExcused(submission));
  const ids = new Set(excused.map(({ id }) => id));
  return {
    ...plan,
    early: [...plan.early, ...excused],
    failed: plan.failed.filter(({ id }) => !ids.has(id)),
  };
}
