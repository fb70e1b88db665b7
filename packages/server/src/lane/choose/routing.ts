import { bytesEqual, bytesToHex, decodeInnerTx } from "@gas-waiver/protocol";
import type { Logger } from "../../model/telemetry/log.js";
import type { PolicySource } from "../../policy/source.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { QueuedSender } from "../../store/lanes/queue/laneSnapshot.js";
import type { Store } from "../../store/store.js";
import { postponeQueued } from "../../store/transitions/postponeQueued.js";
import { rerouteQueued } from "../../store/transitions/rerouteQueued.js";
import type { LaneDirectory } from "./directory.js";

/** The lanes that may carry a call, by the policies of their waivers. */
export interface Routing {
  /** Returns why the waiver's lane can take no work, for an operator; undefined if it can. */
  whyUnusable(waiver: Uint8Array): string | undefined;
  /** Whether two waivers may carry different calls. Only then does {@link carrierOf} matter. */
  policiesDiffer(): boolean;
  /**
   * Finds the lane for an InnerTx that this waiver's lane has queued: `here` if the waiver permits it, and if none does,
   * because then the chain refuses it (D8). Otherwise the waiver of a lane that takes work, or `later` if none does now.
   */
  carrierOf(waiver: Uint8Array, innerRaw: Uint8Array): "here" | "later" | Uint8Array;
  /** Whether another lane than this waiver's takes work now and may carry the InnerTx. */
  hasOtherCarrier(waiver: Uint8Array, innerRaw: Uint8Array): boolean;
  /** Whether another lane than this waiver's takes work now. */
  hasOtherLane(waiver: Uint8Array): boolean;
  /** Wakes the lanes of these waivers, on whichever replica. */
  announceWork(waivers: readonly Uint8Array[]): void;
  /** Reads the lanes now. From then on, this replica sends no new work to those that are draining. */
  refresh(): Promise<void>;
}

export interface RoutingDependencies {
  readonly policies: Pick<PolicySource, "current" | "whyUnusable">;
  readonly directory: Pick<LaneDirectory, "chooseUsable" | "lanes" | "refresh">;
  announceWork(waivers: readonly Uint8Array[]): void;
}

export function createRouting({ policies, directory, announceWork }: RoutingDependencies): Routing {
  const hasUsable = (waivers: readonly Uint8Array[], except: Uint8Array) =>
    directory.chooseUsable(waivers.filter((one) => !bytesEqual(one, except))) !== undefined;
  const all = () => directory.lanes.map((lane) => lane.waiver);
  return {
    whyUnusable: policies.whyUnusable,
    policiesDiffer: () => policies.current().waiversDiffer,
    carrierOf(waiver, innerRaw) {
      const { to, data } = decodeInnerTx(innerRaw);
      const permitted = to && policies.current().waiversFor(to, data);
      if (permitted === undefined || permitted.length === 0) return "here";
      if (permitted.some((one) => bytesEqual(one, waiver))) return "here";
      return directory.chooseUsable(permitted) ?? "later";
    },
    hasOtherCarrier(waiver, innerRaw) {
      const { to, data } = decodeInnerTx(innerRaw);
      return hasUsable((to && policies.current().waiversFor(to, data)) ?? all(), waiver);
    },
    hasOtherLane: (waiver) => hasUsable(all(), waiver),
    announceWork,
    refresh: directory.refresh,
  };
}

/** The pause before a submission that no lane can carry now is planned again. */
const NO_LANE_MS = 1_000;

interface RerouteContext {
  readonly store: Store;
  readonly routing: Routing;
  readonly log: Logger;
}

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
  { store, routing, log }: RerouteContext,
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
