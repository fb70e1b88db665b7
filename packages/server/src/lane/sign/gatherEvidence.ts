import { type ChainNonces, fetchNonces } from "../../chain/nonces.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import {
  type LaneSnapshot,
  type QueuedSender,
  type QueuedSubmission,
  readLaneSnapshot,
} from "../../store/lanes/queue/laneSnapshot.js";
import type { LaneContext } from "../context.js";
import type { Retries } from "../inbox/retries.js";
import {
  createLaneParties,
  type LaneParties,
  placesIn,
  planSender,
  type Room,
  type SenderPlan,
} from "./plan.js";

const NO_RETRIES: Retries = { mostNow: 0, isRetry: () => false };

export interface AssignOptions {
  /** The most submissions to assign. */
  readonly limit: number;
  /** The most submissions to read of those whose pause is over. */
  readonly due: number;
  /** Tells the submissions that were set aside before, and how many of them to assign. Default: none was. */
  readonly retries?: Retries;
  /** The parties that use the lane at present. */
  readonly parties?: LaneParties;
  /** Signs one submission under this nonce, if that is free, and nothing else. */
  readonly onlyUnder?: bigint;
  /** That one may be what blocks have left out before. Default: no. */
  readonly mayBeLeftOut?: boolean;
}

/** The knowledge of store and chain on which the decision rests. */
export interface Evidence {
  readonly snapshot: LaneSnapshot;
  /** The senders whose submissions stay in this lane, and their plans in the same order. */
  readonly senders: readonly QueuedSender[];
  readonly plans: readonly SenderPlan[];
  /** Submissions that cannot be planned now: no node tells the senders' nonces, or no lane of a waiver that may carry it takes work. */
  readonly unplanned: readonly QueuedSubmission[];
  /** The chain's next nonce of the waiver. */
  readonly waiverNonce: bigint;
  readonly room: Room;
}

interface Gathered {
  readonly snapshot: LaneSnapshot;
  /** Undefined if there is nothing to do. */
  readonly evidence: Evidence | undefined;
}

/** Gathers the evidence for a step: reads the store, and then asks the chain for the nonces of the senders. */
export async function gatherEvidence(
  held: HeldLane,
  options: AssignOptions,
  context: LaneContext,
): Promise<Gathered> {
  const { limit, due, parties = createLaneParties() } = options;
  const { store, chain } = context;
  const { ofSender: placesOfSender } = placesIn(context.options.maxInFlight);
  // Reads more of a sender than it may have, to know whether there is more.
  const ofSender = 2 * parties.shareOfSender(limit);
  const queueFloor = store.laneFloors.of(held.waiver)?.queueFloor;
  const { waiverNonce } = context.laneMemory;
  const limits = { ready: limit, due, ofSender, placesOfSender, queueFloor, waiverNonce };
  const snapshot = await readLaneSnapshot(store, held, limits);
  const work = await workOf(snapshot, held, options, context);
  if (work === undefined) return { snapshot, evidence: undefined };
  // Fetched after the snapshot: what a block takes in between counts as in flight and as used, never as neither.
  const addresses = work.senders.map(({ sender }) => sender);
  const nonces = await fetchNonces(chain, held.waiver, addresses);
  return { snapshot, evidence: planAll(work, nonces, context) };
}

/** The part of a snapshot that a step may take, before the nonces of the senders are known. */
type Work = Pick<Evidence, "snapshot" | "senders" | "unplanned" | "room">;

/** @returns undefined if there is nothing to do. */
async function workOf(
  snapshot: LaneSnapshot,
  held: HeldLane,
  options: AssignOptions,
  context: LaneContext,
): Promise<Work | undefined> {
  const { limit, retries = NO_RETRIES, parties = createLaneParties(), onlyUnder, mayBeLeftOut } = options;
  parties.note(snapshot.senders.flatMap(({ queued }) => queued));
  const mayRetry = ({ queued }: QueuedSender) =>
    retries.mostNow > 0 || !queued.some(({ id }) => retries.isRetry(id));
  const { senders, unplanned } = await passOn(held, snapshot.senders.filter(mayRetry), context);
  const { maxInFlight } = context.options;
  if (senders.length + unplanned.length === 0 && snapshot.assigned.count === 0) return undefined;
  // A nonce that stands still must have another wrapper, whoever's, and however full the lane is.
  const places = onlyUnder === undefined ? maxInFlight : Number.MAX_SAFE_INTEGER;
  const free = Math.max(0, Math.min(limit, places - snapshot.inFlight));
  const room = {
    all: free,
    ofSender: parties.shareOfSender(limit),
    ofKey: parties.shareOfKey(limit),
    retries,
    isStruck: (one: QueuedSubmission) =>
      one.strikes > 0 || (onlyUnder === undefined && context.strikes.isStruck(one)),
    mostStruck: onlyUnder === undefined || mayBeLeftOut === true ? 1 : 0,
    maxInFlight: places,
  };
  // A full lane signs nothing, but looks for a gap below its nonces: with a gap, the lane would wait for ever.
  return { snapshot, senders: free > 0 ? senders : [], unplanned, room };
}

/**
 * Has what only another waiver may carry moved to the other's lane. A queue has such submissions when their sender had unfinished
 * ones here, when this lane took over from another, or when the policy was narrowed.
 */
async function passOn(
  { waiver }: HeldLane,
  senders: readonly QueuedSender[],
  { routing }: Pick<LaneContext, "routing">,
): Promise<Pick<Work, "senders" | "unplanned">> {
  if (!routing.policiesDiffer()) return { senders, unplanned: [] };
  const queued = senders.flatMap((one) => one.queued);
  const carriers = new Map(queued.map((one) => [one, routing.carrierOf(waiver, one.innerRaw)]));
  if ([...carriers.values()].includes("another")) await routing.passOn(waiver);
  const staying = senders.map((one) => {
    return { ...one, queued: one.queued.filter((submission) => carriers.get(submission) === "here") };
  });
  return {
    senders: staying.filter((one) => one.queued.length > 0),
    unplanned: queued.filter((one) => carriers.get(one) === "later"),
  };
}

function planAll(
  work: Work,
  nonces: ChainNonces,
  { options: { nonceGapTimeoutMs }, laneMemory }: Pick<LaneContext, "options" | "laneMemory">,
): Evidence {
  laneMemory.waiverNonce = nonces.waiver;
  const told = work.senders.flatMap((one) => {
    const next = nonces.of(one.sender);
    return next === undefined ? [] : [{ one, next }];
  });
  const plans = told.map(({ one: { queued, inFlightNonces }, next }) =>
    planSender(queued, next, inFlightNonces, nonceGapTimeoutMs),
  );
  const silent = work.senders.filter(({ sender }) => nonces.of(sender) === undefined);
  const unplanned = [...work.unplanned, ...silent.flatMap(({ queued }) => queued)];
  return { ...work, senders: told.map(({ one }) => one), plans, unplanned, waiverNonce: nonces.waiver };
}
