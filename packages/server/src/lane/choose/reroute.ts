import { bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { QueuedSender } from "../../store/lanes/queue/laneSnapshot.js";
import { postponeQueued } from "../../store/transitions/postponeQueued.js";
import { rerouteQueued } from "../../store/transitions/rerouteQueued.js";
import type { LaneContext } from "../context.js";

/** The pause before a submission that no lane can carry now is planned again. */
const NO_LANE_MS = 1_000;

interface Departures {
  /** The submissions that go to another lane, keyed by its waiver in hex. */
  readonly byWaiver: Map<string, { readonly waiver: Uint8Array; readonly ids: string[] }>;
  /** Submissions that another waiver may carry, while no lane of such a waiver takes work. */
  readonly postponed: string[];
}

/**
 * Moves queued submissions that only another waiver may carry to the other waiver's lane. Without a lane that takes work,
 * they are put off. A queue has such submissions when their sender had unfinished ones here, when this lane took over from
 * another, or when the policy was narrowed. The sender's nonces stay in order: in the other lane a submission is ahead of
 * its turn until the chain has the sender's nonce before.
 * @returns what stays in this lane.
 */
export async function reroute(
  held: HeldLane,
  senders: readonly QueuedSender[],
  { store, routing, log }: LaneContext,
): Promise<readonly QueuedSender[]> {
  if (!routing.policiesDiffer()) return senders;
  const departures: Departures = { byWaiver: new Map(), postponed: [] };
  const staying = senders
    .map((one) => ({
      ...one,
      queued: one.queued.filter(({ id, innerRaw }) => {
        const carrier = routing.carrierOf(held.waiver, innerRaw);
        if (carrier === "here") return true;
        depart(id, carrier, departures);
        return false;
      }),
    }))
    .filter(({ queued }) => queued.length > 0);
  const { byWaiver, postponed } = departures;
  await postponeQueued(store, held, postponed, NO_LANE_MS);
  for (const { waiver, ids } of byWaiver.values()) {
    const moved = await rerouteQueued(store, held, ids, waiver);
    log.debug(
      { to: bytesToHex(waiver), moved: moved.length },
      "another waiver may carry what this one may not",
    );
  }
  if (byWaiver.size > 0) routing.announceWork([...byWaiver.values()].map(({ waiver }) => waiver));
  return staying;
}

function depart(id: string, carrier: Uint8Array | "later", { byWaiver, postponed }: Departures): void {
  if (carrier === "later") {
    postponed.push(id);
    return;
  }
  const name = bytesToHex(carrier);
  const group = byWaiver.get(name) ?? { waiver: carrier, ids: [] };
  group.ids.push(id);
  byWaiver.set(name, group);
}
