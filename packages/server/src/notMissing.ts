import type { LaneContext } from "./lane.js";
import type { Plan } from "./plan.js";
import type { Lane } from "./store/lease.js";
import type { QueuedSender } from "./store/look.js";
import { heldElsewhere } from "./store/queue.js";

/**
 * Nothing has failed for a missing nonce (D20) while a submission with an earlier one is under way in another lane, or
 * waits for one: where the waivers' policies differ, a sender's transactions have to wait for each other on the chain.
 * @param senders whose plans these are, in the same order.
 */
export async function spareNotMissing(
  held: Lane,
  senders: readonly QueuedSender[],
  plans: readonly Plan[],
  { store }: LaneContext,
): Promise<readonly Plan[]> {
  const failing = senders.filter((_, i) => (plans[i]?.failed.length ?? 0) > 0);
  if (failing.length === 0) return plans;
  const lowest = await heldElsewhere(store, held, {
    senders: failing.map(({ sender }) => sender),
    except: failing.flatMap(({ queued }) => queued.map(({ id }) => id)),
  });
  return plans.map((plan, i) => {
    const sender = senders[i];
    const before = sender && lowest.get(Buffer.from(sender.sender).toString("hex"));
    if (sender === undefined || before === undefined) return plan;
    const failed = new Set(plan.failed.map(({ id }) => id));
    const spared = sender.queued.filter(({ id, senderNonce }) => failed.has(id) && before < senderNonce);
    const ids = new Set(spared.map(({ id }) => id));
    return {
      ...plan,
      early: [...plan.early, ...spared],
      failed: plan.failed.filter(({ id }) => !ids.has(id)),
    };
  });
}
