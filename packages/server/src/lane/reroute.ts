import { bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { QueuedSender } from "../store/lanes/laneSnapshot.js";
import { postponeQueued } from "../store/transitions/postponeQueued.js";
import { rerouteQueued } from "../store/transitions/rerouteQueued.js";
import type { LaneContext } from "./lane.js";

/** When what no lane can carry now is looked at again. */
const LATER_MS = 1_000;

/**
 * Takes out of what a lane has queued what its waiver may not carry and another's may: it goes to that lane, or waits
 * until one takes work. So it is where a sender has other work under way here, where this lane took over from another,
 * and where the policy was narrowed since. The sender's nonces stay in order: there it is ahead of its turn until the
 * chain has the one before it.
 * @returns what stays.
 */
export async function reroute(
  held: HeldLane,
  senders: readonly QueuedSender[],
  { store, routing, log }: LaneContext,
): Promise<readonly QueuedSender[]> {
  if (!routing.policiesDiffer()) return senders;
  const staying: QueuedSender[] = [];
  const going = new Map<string, { readonly waiver: Uint8Array; readonly ids: string[] }>();
  const waiting: string[] = [];
  for (const one of senders) {
    const queued = one.queued.filter(({ id, innerRaw }) => {
      const carrier = routing.carrierOf(held.waiver, innerRaw);
      if (carrier === "here") return true;
      if (carrier === "later") waiting.push(id);
      else {
        const name = bytesToHex(carrier);
        const group = going.get(name) ?? { waiver: carrier, ids: [] };
        group.ids.push(id);
        going.set(name, group);
      }
      return false;
    });
    if (queued.length > 0) staying.push({ ...one, queued });
  }
  await postponeQueued(store, held, waiting, LATER_MS);
  for (const { waiver, ids } of going.values()) {
    const moved = await rerouteQueued(store, held, ids, waiver);
    log.debug(
      { to: bytesToHex(waiver), moved: moved.length },
      "another waiver may carry what this one may not",
    );
  }
  if (going.size > 0) routing.announceWork([...going.values()].map(({ waiver }) => waiver));
  return staying;
}
