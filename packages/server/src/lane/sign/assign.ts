import { type ChainNonces, fetchNonces } from "../../chain/nonces.js";
import type { Failure } from "../../model/submission/submission.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findFailedPredecessors } from "../../store/lanes/nonces/missingNonces.js";
import { countOpenWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import {
  type LaneSnapshot,
  type QueuedSender,
  type QueuedSubmission,
  readLaneSnapshot,
} from "../../store/lanes/queue/laneSnapshot.js";
import { putOffQueued } from "../../store/transitions/putOffQueued.js";
import { saveSigned } from "../../store/transitions/saveSigned.js";
import type { LaneContext } from "../context.js";
import { failExpired, reconcile } from "../law/reconcile.js";
import { NEXT_TRY_MS } from "../law/requeue.js";
import { type Placed, placeReady, type SignedInFlight, signPlaced } from "./placement.js";
import { chooseReady, type GapFailure, placesIn, planSender, type Room, type SenderPlan } from "./plan.js";
import { excuseNonceGaps, HELD_BACK_MS, reserveChosen, unparkNextOfSenders } from "./waiting.js";

export interface Assigned {
  /** The submissions that are signed and stored now, in the order of their waiver nonces. They are to be sent. */
  readonly signed: readonly SignedInFlight[];
  /** More may be ready, or room was made for it. If false, another step at once would find nothing. */
  readonly stepAgain: boolean;
  /** There may be more submissions whose pause is over than the step read. */
  readonly moreDue: boolean;
  /** The snapshot had nothing queued and nothing in flight. */
  readonly isEmpty: boolean;
  readonly hasInFlight: boolean;
  /** Something is queued, and has no place in flight. */
  readonly isFull: boolean;
}

const NOTHING = { signed: [], stepAgain: false, moreDue: false } as const;

/**
 * Assigns at most `limit` queued submissions their waiver nonces and wrappers, in one write: gathers what the store
 * and the chain know, decides, signs, and stores.
 */
export async function assign(
  held: HeldLane,
  options: AssignOptions,
  context: LaneContext,
): Promise<Assigned> {
  const memory = context.laneMemory.begin(held);
  const snapshot = await readSnapshot(held, options, context);
  const evidence = await gatherEvidence(snapshot, held, options, context);
  const assigned = await assignBy(snapshot, evidence, held, options, context);
  const shown = snapshot.senders.reduce((sum, { queued }) => sum + queued.length, 0);
  const isEmpty = snapshot.isWhole && assigned.signed.length === shown;
  memory.endReading({ ...snapshot, isEmpty }, assigned.signed);
  setReady(isEmpty, context);
  return assigned;
}

/**
 * Returns the chain's next nonce of the waiver. A node that lags by a block may tell a nonce that a foreign transaction has
 * used in the block.
 */
export function nextWaiverNonce(
  { waiver }: HeldLane,
  told: bigint,
  { nonceProofs }: Pick<LaneContext, "nonceProofs">,
): bigint {
  const used = nonceProofs.usedBelow(waiver);
  return used > told ? used : told;
}

/**
 * Says whether the lane takes offers in one of its next steps: a step that left nothing queued is followed by one that does, or that
 * reads what has come into the queue meanwhile. Declined offers would come into the queue too, and all later ones after them.
 */
export function setReady(
  isQueueEmpty: boolean,
  context: Pick<LaneContext, "laneOffers" | "laneSigner">,
): void {
  // A custody that takes its time would delay the accept.
  context.laneOffers.setReady(isQueueEmpty && context.laneSigner.window === Number.POSITIVE_INFINITY);
}

async function assignBy(
  snapshot: LaneSnapshot,
  evidence: Evidence | undefined,
  held: HeldLane,
  options: AssignOptions,
  context: LaneContext,
): Promise<Assigned> {
  const { count } = snapshot.assigned;
  const isFull = snapshot.senders.length > 0 && snapshot.inFlight >= context.options.maxInFlight;
  const work = { isEmpty: snapshot.senders.length + count === 0, hasInFlight: count > 0, isFull };
  if (evidence === undefined) return { ...NOTHING, ...work };
  const { senders } = evidence;
  const waiverNonce = nextWaiverNonce(held, evidence.waiverNonce, context);
  const plans = await excuseNonceGaps(held, senders, evidence.plans, context);
  const { failed, ...waiting } = await handleNotReady(held, plans, context);
  const signable = plans.map((plan) => beforeRefused(plan, context));
  const isStruckTurn = context.struckTurn.isFree(waiverNonce, snapshot.assigned);
  const mostStruck = isStruckTurn ? evidence.room.mostStruck : 0;
  const {
    chosen: all,
    hasMore,
    struckLeft,
  } = chooseReady(signable, { ...snapshot, senders }, { ...evidence.room, mostStruck });
  const { chosen, left, ...capped } = await reserveChosen(held, all, context);
  const heldBack = [
    ...left,
    ...evidence.unplanned,
    ...plans.flatMap(({ ready }, i) => ready.slice(signable[i]?.ready.length)),
    ...(options.onlyUnder === undefined ? struckLeft : []),
  ];
  const { store } = context;
  const hidden = waiting.hidden + (await putOffQueued(store, held, heldBack, { afterMs: HELD_BACK_MS }));
  const { onlyUnder } = options;
  const placed = await placeReady(held, snapshot, waiverNonce, chosen, onlyUnder, context);
  if (placed === undefined) return { ...NOTHING, ...work, stepAgain: true };
  const meant =
    onlyUnder === undefined ? placed : placed.filter(({ waiverNonce }) => waiverNonce === onlyUnder);
  const { signed, waits } = await signAndStore(held, meant, context);
  for (const { submission, waiverNonce: nonce } of meant)
    if (evidence.room.isStruck(submission)) context.struckTurn.onSigned(nonce);
  const leftQueue = [...failed, ...capped.failed, ...signed.map(({ id }) => id)];
  await unparkNextOfSenders(held, senders, new Set(leftQueue), context);
  const hasProgress = leftQueue.length + hidden > 0;
  return {
    signed,
    stepAgain: waits || (hasProgress && (snapshot.ready >= options.limit || hasMore)),
    moreDue: hasProgress && options.due > 0 && snapshot.due >= options.due,
    ...work,
    hasInFlight: work.hasInFlight || signed.length > 0,
  };
}

/** Reconciles late submissions with the chain, fails those that waited too long, and puts the others aside. */
async function handleNotReady(
  held: HeldLane,
  plans: readonly SenderPlan[],
  context: LaneContext,
): Promise<{ failed: readonly string[]; hidden: number }> {
  const late = plans.flatMap((plan) => plan.late);
  // A nonce that is not past now was told as past for a moment.
  for (const { ready, early: ahead } of plans)
    for (const one of [...ready, ...ahead]) context.entries.forget(one, "past");
  await reconcile(held, late, context);
  const failed = await failUnsent(held, plans, context);
  // A late one whose outcome is not confirmed yet stays queued, and so does a failed one with an open wrapper.
  const unsent = plans.flatMap((plan) => plan.failed.map(({ submission }) => submission));
  const alone = [...late, ...unsent].filter(({ id }) => !failed.includes(id));
  const early = plans.flatMap((plan) => plan.early);
  const hidden = await putOffQueued(context.store, held, early, {
    afterMs: NEXT_TRY_MS,
    isAhead: true,
    alone,
  });
  return { failed, hidden };
}

/**
 * Fails the submissions that waited too long for their turn, unless a wrapper of the submission may still land (L9).
 * @returns the ids of those that have failed.
 */
async function failUnsent(
  held: HeldLane,
  plans: readonly SenderPlan[],
  context: LaneContext,
): Promise<readonly string[]> {
  const { store, options } = context;
  const gaps = plans.flatMap((plan) => plan.failed.map((gap) => ({ ...gap, id: gap.submission.id })));
  if (gaps.length === 0) return [];
  const open = await countOpenWrappers(
    store,
    gaps.map(({ id }) => id),
  );
  const predecessors = await findFailedPredecessors(store, gaps);
  const expired = gaps.map(({ id, ...gap }) => {
    const failure = gapFailure(gap, options.nonceGapTimeoutMs, predecessors.get(id));
    return { id, openWrappers: open.get(id) ?? 0, expiry: { kind: "nonce gap", failure } as const };
  });
  return await failExpired(held, expired, context);
}

/** @param predecessor the failed submission that had the missing nonce. */
function gapFailure(
  { submission: { senderNonce }, missing }: GapFailure,
  timeoutMs: number,
  predecessor: string | undefined,
): Failure {
  const gap = `nonce ${senderNonce} is ahead of the sender's next, ${missing}, which did not come within ${timeoutMs} ms`;
  const holder = predecessor && `; submission ${predecessor} had nonce ${missing}, and has failed`;
  const nonces = { nonce: senderNonce.toString(), missing: missing.toString() };
  const values = predecessor
    ? { ...nonces, missingHolder: "failed", submission: predecessor }
    : { ...nonces, missingHolder: "unknown" };
  return { reason: "NONCE_GAP", message: `${gap}${holder ?? ""}`, values };
}

interface Signed {
  /** The submissions that were stored as signed; others were no longer queued. */
  readonly signed: readonly SignedInFlight[];
  /** The custody has not signed all yet. */
  readonly waits: boolean;
}

async function signAndStore(
  held: HeldLane,
  placed: readonly Placed[],
  { store, laneSigner, head }: LaneContext,
): Promise<Signed> {
  if (placed.length === 0) return { signed: [], waits: false };
  const signed = await signPlaced(placed, laneSigner, held.owner, head?.());
  const waits = signed.length < placed.length;
  if (signed.length === 0) return { signed: [], waits };
  const moved = await saveSigned(store, held, signed);
  const origins = new Map(moved.map(({ id, origin }) => [id, origin]));
  const inFlight = signed.flatMap((one) => {
    const origin = origins.get(one.id);
    return origin === undefined ? [] : [{ ...one, origin }];
  });
  return { signed: inFlight, waits };
}

/** Leaves out submissions that the custody does not sign at present, and later ones of the sender. */
function beforeRefused(plan: SenderPlan, { laneSigner }: LaneContext): SenderPlan {
  const refused = plan.ready.findIndex(({ id }) => laneSigner.isRefused(id));
  return refused < 0 ? plan : { ...plan, ready: plan.ready.slice(0, refused) };
}

export interface AssignOptions {
  /** The most submissions to assign. */
  readonly limit: number;
  /** The most submissions to read of those whose pause is over. */
  readonly due: number;
  /** Signs one submission under this nonce, if that is free, and nothing else. */
  readonly onlyUnder?: bigint;
  /** That one may be what blocks have left out before. Default: no. */
  readonly mayBeLeftOut?: boolean;
}

/** The knowledge of store and chain on which the decision rests. */
interface Evidence {
  /** The senders whose submissions stay in this lane, and their plans in the same order. */
  readonly senders: readonly QueuedSender[];
  readonly plans: readonly SenderPlan[];
  /** Submissions that cannot be planned now: no node tells the senders' nonces, or no lane of a waiver that may carry it takes work. */
  readonly unplanned: readonly QueuedSubmission[];
  /** The chain's next nonce of the waiver. */
  readonly waiverNonce: bigint;
  readonly room: Room;
}

async function readSnapshot(
  held: HeldLane,
  { limit, due }: AssignOptions,
  { store, options, parties, laneMemory: { waiverNonce } }: LaneContext,
): Promise<LaneSnapshot> {
  const { ofSender: placesOfSender } = placesIn(options.maxInFlight);
  // Reads more of a sender than it may have, to know whether there is more.
  const ofSender = 2 * parties.shareOfSender(limit);
  const queueFloor = store.laneFloors.of(held.waiver)?.queueFloor;
  const limits = { ready: limit, due, ofSender, placesOfSender, queueFloor, waiverNonce };
  return await readLaneSnapshot(store, held, limits);
}

/** Asks the chain for the nonces of the senders. @returns undefined if there is nothing to do. */
async function gatherEvidence(
  snapshot: LaneSnapshot,
  held: HeldLane,
  options: AssignOptions,
  context: LaneContext,
): Promise<Evidence | undefined> {
  const work = await workOf(snapshot, held, options, context);
  if (work === undefined) return undefined;
  // Fetched after the snapshot: what a block takes in between counts as in flight and as used, never as neither.
  const addresses = work.senders.map(({ sender }) => sender);
  return planAll(work, await fetchNonces(context.chain, held.waiver, addresses), context);
}

/** The part of a snapshot that a step may take, before the nonces of the senders are known. */
type Work = Pick<Evidence, "senders" | "unplanned" | "room">;

/** @returns undefined if there is nothing to do. */
async function workOf(
  snapshot: LaneSnapshot,
  held: HeldLane,
  options: AssignOptions,
  context: LaneContext,
): Promise<Work | undefined> {
  const { limit, onlyUnder, mayBeLeftOut } = options;
  const { parties, retries } = context;
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
    isPreferred: ({ sender }: QueuedSubmission) =>
      onlyUnder !== undefined && context.strikes.isProven(sender),
    mostStruck: onlyUnder === undefined || mayBeLeftOut === true ? 1 : 0,
    maxInFlight: places,
  };
  // A full lane signs nothing, but looks for a gap below its nonces: with a gap, the lane would wait for ever.
  return { senders: free > 0 ? senders : [], unplanned, room };
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
