import { type ChainNonces, fetchNonces } from "../../chain/nonces.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import {
  type LaneSnapshot,
  type QueuedSender,
  type QueuedSubmission,
  readLaneSnapshot,
  type SnapshotLimits,
} from "../../store/lanes/queue/laneSnapshot.js";
import { readShortQueue } from "../../store/lanes/queue/shortQueue.js";
import type { Store } from "../../store/store.js";
import { reroute } from "../choose/reroute.js";
import type { LaneContext } from "../context.js";
import type { StepMemory } from "../inbox/laneMemory.js";
import { createLaneParties, type LaneParties } from "../inbox/laneParties.js";
import type { Retries } from "../inbox/retryPace.js";
import { placesIn, type Room } from "./chooseReady.js";
import { planSender, type SenderPlan } from "./plan.js";

/** More of what this replica has accepted is read from the queue, where keys and senders take turns. */
const MAX_ACCEPTED = 16;
/** While no more senders than this are expected, the lane reads its queue as a short one first. */
const MAX_EXPECTED_OF_SHORT_QUEUE = 4;

const NO_RETRIES: Retries = { mostNow: 0, isRetry: () => false };

export interface AssignOptions {
  /** The most submissions to assign. */
  readonly limit: number;
  /** The most submissions to read of those whose pause is over. */
  readonly due: number;
  /** Tells the submissions that were set aside before, and how many of them to assign. Default: none was. */
  readonly retries?: Retries;
  /**
   * The last snapshot did not show all that was queued. Then the nonces of the expected senders are not fetched in
   * advance.
   */
  readonly backlog?: boolean;
  /** The parties that use the lane at present. */
  readonly parties?: LaneParties;
  /** Signs one submission under this nonce, if that is free, and nothing else. */
  readonly onlyUnder?: bigint;
  /** That one may be what blocks have left out before. Default: no. */
  readonly mayBeLeftOut?: boolean;
  /** The lane leaves to others what they may carry. Default: no. */
  readonly isAvoided?: boolean;
}

/** The knowledge of store and chain on which the decision rests. */
export interface Evidence {
  readonly snapshot: LaneSnapshot;
  /** The senders whose submissions stay in this lane, and their plans in the same order. */
  readonly senders: readonly QueuedSender[];
  readonly plans: readonly SenderPlan[];
  /** The senders whose nonces no node tells. Nothing of these can be planned. */
  readonly silent: readonly QueuedSender[];
  /** The chain's next nonce of the waiver. */
  readonly waiverNonce: bigint;
  readonly room: Room;
  readonly parties: LaneParties;
}

interface Gathered {
  readonly snapshot: LaneSnapshot;
  /** Undefined if there is nothing to do. */
  readonly evidence: Evidence | undefined;
}

/**
 * Gathers the evidence for a step. A lane that remembers its nonces and an empty queue needs only the submissions that this
 * replica has accepted since. Any other lane reads the store, and fetches the nonces of the expected senders meanwhile.
 */
export async function gatherEvidence(
  held: HeldLane,
  options: AssignOptions,
  memory: StepMemory,
  context: LaneContext,
): Promise<Gathered> {
  const { limit, due, backlog = false, parties = createLaneParties() } = options;
  const { store, chain, laneSigner } = context;
  const accepted = context.acceptedWork.take(held.waiver);
  const expected = accepted.submissions.map(({ sender }) => sender);
  const { ofSender: placesOfSender } = placesIn(context.options.maxInFlight);
  const early =
    expected.length > 0 && !backlog
      ? accepted.nonces().then((nonces) => nonces ?? fetchNonces(chain, held.waiver, expected))
      : undefined;
  // It may reject while nobody waits for it yet, or after the store has failed.
  early?.catch(() => {});
  const mayRemember = early !== undefined && due === 0 && laneSigner.begun.size === 0;
  const remembered = mayRemember
    ? memory.snapshotOf(accepted, Math.min(limit, MAX_ACCEPTED), placesOfSender)
    : undefined;
  if (remembered && early) {
    const work = await workOf(remembered, held, options, context);
    const evidence = work && planAllReady(work, await early, context);
    if (evidence) return { snapshot: remembered, evidence };
  }
  const readyOfKey = parties.shareOfKey(limit);
  // Reads more of a sender than it may have, to know whether there is more.
  const ofSender = 2 * parties.shareOfSender(limit);
  const queueFloor = context.laneFloors?.of(held.waiver)?.queueFloor;
  const { waiverNonce } = context.laneMemory;
  const limits = { ready: limit, readyOfKey, due, ofSender, placesOfSender, queueFloor, waiverNonce };
  const isQuiet = !backlog && expected.length <= MAX_EXPECTED_OF_SHORT_QUEUE;
  // The node answers for the expected senders while the store reads the snapshot.
  const [snapshot, nonces] = await Promise.all([readSnapshot(store, held, limits, isQuiet), early]);
  const work = await workOf(snapshot, held, options, context);
  if (work === undefined) return { snapshot, evidence: undefined };
  const evidence = nonces && planAllReady(work, nonces, context);
  if (evidence) return { snapshot, evidence };
  // Fetched after the snapshot: what a block takes in between counts as in flight and as used, never as neither.
  const addresses = work.senders.map(({ sender }) => sender);
  const newer = await fetchNonces(chain, held.waiver, addresses);
  return { snapshot, evidence: planAll(work, newer, context) };
}

/** The part of a snapshot that a step may take, before the nonces of the senders are known. */
type Work = Pick<Evidence, "snapshot" | "senders" | "room" | "parties">;

/** @returns undefined if there is nothing to do. */
async function workOf(
  snapshot: LaneSnapshot,
  held: HeldLane,
  options: AssignOptions,
  context: LaneContext,
): Promise<Work | undefined> {
  const { limit, retries = NO_RETRIES, parties = createLaneParties(), onlyUnder, mayBeLeftOut } = options;
  parties.note(snapshot);
  const mayRetry = ({ queued }: QueuedSender) =>
    retries.mostNow > 0 || !queued.some(({ id }) => retries.isRetry(id));
  const isOthers = options.isAvoided === true ? othersMayCarry(held, context) : () => false;
  const mayGo = (one: QueuedSender) => mayRetry(one) && !isOthers(one);
  const senders = await reroute(held, snapshot.senders.filter(mayGo), context);
  const { maxInFlight } = context.options;
  if (senders.length === 0 && snapshot.assigned.count === 0) return undefined;
  const free = Math.max(0, Math.min(limit, maxInFlight - snapshot.inFlight));
  const ofKey = parties.shareOfKey(limit);
  const room = {
    all: ofKey < limit ? Math.min(free, snapshot.ready + snapshot.due) : free,
    ofSender: parties.shareOfSender(limit),
    ofKey: ofKey < limit ? ofKey : Number.POSITIVE_INFINITY,
    retries,
    // A nonce that stands still must have another wrapper, of whomever.
    isStruck: (one: QueuedSubmission) =>
      one.strikes > 0 || (onlyUnder === undefined && context.strikes.isStruck(one)),
    mostStruck: onlyUnder === undefined || mayBeLeftOut === true ? 1 : 0,
    maxInFlight,
  };
  // A full lane signs nothing, but looks for a gap below its nonces: with a gap, the lane would wait for ever.
  return { snapshot, senders: free > 0 ? senders : [], room, parties };
}

/**
 * Tells the senders whose work the lane directory moves to other lanes. A sender with something in flight stays, so that its
 * nonces stay in order.
 */
function othersMayCarry({ waiver }: HeldLane, { routing }: Pick<LaneContext, "routing">) {
  return ({ queued, inFlightNonces }: QueuedSender) =>
    inFlightNonces.size === 0 && queued.every(({ innerRaw }) => routing.hasOtherCarrier(waiver, innerRaw));
}

/** @param isQuiet the queue is probably short. */
async function readSnapshot(
  store: Store,
  held: HeldLane,
  limits: SnapshotLimits,
  isQuiet: boolean,
): Promise<LaneSnapshot> {
  const short = isQuiet ? await readShortQueue(store, held, limits) : undefined;
  return short ?? readLaneSnapshot(store, held, limits);
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
  const senders = told.map(({ one }) => one);
  return { ...work, senders, plans, silent, waiverNonce: nonces.waiver };
}

/**
 * Plans by nonces that are older than the snapshot. That is sound only if all that the senders have queued can go: if
 * a block had taken something in between, a submission would seem to be ahead of its turn.
 * @returns undefined if a nonce is not known, or something cannot go.
 */
function planAllReady(
  work: Work,
  nonces: ChainNonces,
  context: Pick<LaneContext, "options" | "laneMemory">,
): Evidence | undefined {
  if (!work.senders.every(({ sender }) => nonces.of(sender) !== undefined)) return undefined;
  const evidence = planAll(work, nonces, context);
  const isAllReady = ({ late, early, failed }: SenderPlan) =>
    late.length + early.length + failed.length === 0;
  return evidence.plans.every(isAllReady) ? evidence : undefined;
}
