import { type ChainNonces, fetchNonces } from "../chain/nonces.js";
import type { Failure } from "../model/submission.js";
import type { LaneSignRequest } from "../signing/laneSigner.js";
import { findFailedPredecessors } from "../store/lanes/failedPredecessors.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../store/lanes/inFlight.js";
import {
  type LaneSnapshot,
  type QueuedSender,
  type QueuedSubmission,
  readLaneSnapshot,
  type SnapshotLimits,
} from "../store/lanes/laneSnapshot.js";
import { readShortQueue } from "../store/lanes/shortQueue.js";
import { countOpenWrappers } from "../store/lanes/withdrawnWrappers.js";
import type { Store } from "../store/store.js";
import { type SignedSubmission, saveSigned } from "../store/transitions/saveSigned.js";
import { chooseReady, placesIn, type Room } from "./chooseReady.js";
import type { LaneContext } from "./context.js";
import { keepBegun } from "./keepBegun.js";
import { createLaneParties, type LaneParties } from "./laneParties.js";
import { decide } from "./law.js";
import { excuseNonceGaps } from "./nonceGap.js";
import { type Placed, placeAbove, placeInGaps } from "./placement.js";
import { type GapFailure, planSender, type SenderPlan } from "./plan.js";
import { failSubmissions, reconcile } from "./reconcile.js";
import { reroute } from "./reroute.js";
import type { Retries } from "./retryPace.js";
import { postponeWaiting, unparkNextOfSenders } from "./waiting.js";

export interface Assigned {
  /** The submissions that are signed and stored now, in the order of their waiver nonces. They are to be sent. */
  readonly signed: readonly InFlightSubmission[];
  /** More may be ready, or room was made for it. If false, another step at once would find nothing. */
  readonly stepAgain: boolean;
  /** Only senders or keys with at least their share are left, and somebody who uses less may come. */
  readonly leavesRoom: boolean;
  /** There may be more submissions whose pause is over than the step read. */
  readonly moreDue: boolean;
  /** The snapshot had nothing queued and nothing in flight. */
  readonly isEmpty: boolean;
  readonly hasInFlight: boolean;
}

/** While no more senders than this are expected, the lane reads its queue as a short one first. */
const MAX_EXPECTED_OF_SHORT_QUEUE = 4;

const NO_RETRIES: Retries = { mostNow: 0, isRetry: () => false };
const NOTHING = { signed: [], stepAgain: false, leavesRoom: false, moreDue: false } as const;

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
}

/**
 * Assigns at most `limit` queued submissions their waiver nonces and wrappers, in one write: gathers what the store
 * and the chain know, decides, signs, and stores.
 */
export async function assign(
  held: HeldLane,
  options: AssignOptions,
  context: LaneContext,
): Promise<Assigned> {
  const { snapshot, evidence } = await gatherEvidence(held, options, context);
  const { count } = snapshot.assigned;
  const work = { isEmpty: snapshot.senders.length + count === 0, hasInFlight: count > 0 };
  if (evidence === undefined) return { ...NOTHING, ...work };
  const { senders } = evidence;
  // A node that is a moment behind may not have a block in which something else has used the waiver's nonce.
  const used = context.nonceProofs.usedBelow(held.waiver);
  const waiverNonce = used > evidence.waiverNonce ? used : evidence.waiverNonce;
  const plans = await excuseNonceGaps(held, senders, evidence.plans, context);
  const { failed, hidden } = await handleNotReady(held, senders, plans, context);
  const signable = plans.map((plan) => beforeRefused(plan, context));
  const { chosen, hasMore, hasHeavy, hasLight } = chooseReady(
    signable,
    { ...snapshot, senders },
    evidence.room,
  );
  if (hasLight) evidence.parties.noteLight();
  const above = placeAbove(snapshot, waiverNonce, chosen);
  const placed = above
    ? keepBegun(above, context.laneSigner.begun)
    : await placeInGaps(held, waiverNonce, chosen, context);
  if (placed === undefined) return { ...NOTHING, ...work, stepAgain: true };
  const { signed, waits } = await signAndStore(held, placed, context);
  const leftQueue = [...failed, ...signed.map(({ id }) => id)];
  await unparkNextOfSenders(held, senders, new Set(leftQueue), context);
  const hasProgress = leftQueue.length + hidden > 0;
  return {
    signed,
    stepAgain: waits || (hasProgress && (snapshot.hasMoreReady || hasMore)),
    leavesRoom: hasHeavy && evidence.parties.hasLight,
    moreDue: hasProgress && options.due > 0 && snapshot.due >= options.due,
    ...work,
    hasInFlight: work.hasInFlight || signed.length > 0,
  };
}

/** The knowledge of store and chain on which the decision rests. */
interface Evidence {
  readonly snapshot: LaneSnapshot;
  /** The senders whose submissions stay in this lane, and their plans in the same order. */
  readonly senders: readonly QueuedSender[];
  readonly plans: readonly SenderPlan[];
  /** The chain's next nonce of the waiver. */
  readonly waiverNonce: bigint;
  readonly room: Room;
  readonly parties: LaneParties;
}

/** Returns no evidence if there is nothing to do. */
async function gatherEvidence(
  held: HeldLane,
  { limit, due, retries = NO_RETRIES, backlog = false, parties = createLaneParties() }: AssignOptions,
  context: LaneContext,
): Promise<{ readonly snapshot: LaneSnapshot; readonly evidence: Evidence | undefined }> {
  const { store, chain, options } = context;
  const expected = context.expectedSenders.take(held.waiver);
  const readyOfKey = parties.shareOfKey(limit);
  // Reads more of a sender than it may have, to know whether there is more.
  const ofSender = 2 * parties.shareOfSender(limit);
  const { ofSender: placesOfSender } = placesIn(context.options.maxInFlight);
  const queueFloor = context.laneFloors?.of(held.waiver)?.queueFloor;
  const limits = { ready: limit, readyOfKey, due, ofSender, placesOfSender, queueFloor };
  // The node answers for the expected senders while the store reads the snapshot.
  const isQuiet = !backlog && expected.length <= MAX_EXPECTED_OF_SHORT_QUEUE;
  const [snapshot, early] = await Promise.all([
    readSnapshot(store, held, limits, isQuiet),
    expected.length > 0 && !backlog ? fetchNonces(chain, held.waiver, expected) : undefined,
  ]);
  parties.note(snapshot);
  const mayRetry = ({ queued }: QueuedSender) =>
    retries.mostNow > 0 || !queued.some(({ id }) => retries.isRetry(id));
  const senders = await reroute(held, snapshot.senders.filter(mayRetry), context);
  const { maxInFlight } = options;
  const free = Math.min(limit, maxInFlight - snapshot.assigned.count);
  if (free <= 0 || (senders.length === 0 && snapshot.assigned.count === 0))
    return { snapshot, evidence: undefined };
  const ofKey = parties.shareOfKey(limit);
  const room = {
    all: ofKey < limit ? Math.min(free, snapshot.ready + snapshot.due) : free,
    ofSender: parties.shareOfSender(limit),
    ofKey: ofKey < limit ? ofKey : Number.POSITIVE_INFINITY,
    retries,
    maxInFlight,
  };
  const found = { snapshot, senders, room, parties };
  const earlyPlans = early && planAllReady(senders, early, options.nonceGapTimeoutMs);
  if (earlyPlans) return { snapshot, evidence: { ...found, plans: earlyPlans, waiverNonce: early.waiver } };
  // Fetched after the snapshot: what a block takes in between counts as in flight and as used, never as neither.
  const addresses = senders.map(({ sender }) => sender);
  const nonces = await fetchNonces(chain, held.waiver, addresses);
  const plans = planAll(senders, nonces, options.nonceGapTimeoutMs);
  return { snapshot, evidence: { ...found, plans, waiverNonce: nonces.waiver } };
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
  senders: readonly QueuedSender[],
  nonces: ChainNonces,
  nonceGapTimeoutMs: number,
): SenderPlan[] {
  return senders.map(({ sender, queued, inFlightNonces }) =>
    planSender(queued, nonces.of(sender) ?? 0n, inFlightNonces, nonceGapTimeoutMs),
  );
}

/**
 * Plans by nonces that are older than the snapshot. That is sound only if all that the senders have queued can go: if
 * a block had taken something in between, a submission would seem to be ahead of its turn.
 * @returns undefined if a nonce is not known, or something cannot go.
 */
function planAllReady(
  senders: readonly QueuedSender[],
  nonces: ChainNonces,
  nonceGapTimeoutMs: number,
): SenderPlan[] | undefined {
  if (!senders.every(({ sender }) => nonces.of(sender) !== undefined)) return undefined;
  const plans = planAll(senders, nonces, nonceGapTimeoutMs);
  const isAllReady = ({ late, early, failed }: SenderPlan) =>
    late.length + early.length + failed.length === 0;
  return plans.every(isAllReady) ? plans : undefined;
}

/** Reconciles late submissions with the chain, fails those that waited too long, and puts the others aside. */
async function handleNotReady(
  held: HeldLane,
  senders: readonly QueuedSender[],
  plans: readonly SenderPlan[],
  context: LaneContext,
): Promise<{ failed: readonly string[]; hidden: number }> {
  const late = plans.flatMap((plan) => plan.late);
  await reconcile(held, late, context);
  const failed = await failUnsent(held, plans, context);
  return { failed, hidden: await postponeWaiting(held, senders, plans, new Set(failed), context) };
}

/**
 * Fails the submissions that waited too long for their turn, unless one of their wrappers may still land (L9).
 * @returns the ids of those that have failed.
 */
async function failUnsent(
  held: HeldLane,
  plans: readonly SenderPlan[],
  context: LaneContext,
): Promise<readonly string[]> {
  const failed = plans.flatMap((plan) => plan.failed);
  if (failed.length === 0) return [];
  const open = await countOpenWrappers(
    context.store,
    failed.map(({ id }) => id),
  );
  const predecessors = await findFailedPredecessors(context.store, failed);
  const decided = failed.flatMap((one) => {
    const { id } = one;
    const expiry = { kind: "nonce gap", failure: gapFailure(one, predecessors.get(id)) } as const;
    const decision = decide({ state: "queued", openWrappers: open.get(id) ?? 0, expiry });
    return decision.move === "fail" ? [{ id, ...decision.failure, condition: "queued" as const }] : [];
  });
  await failSubmissions(held, decided, context);
  return decided.map(({ id }) => id);
}

/** @param predecessor the failed submission that had the missing nonce. */
function gapFailure({ reason, message, values, missing }: GapFailure, predecessor?: string): Failure {
  if (predecessor === undefined) return { reason, message, ...(values && { values }) };
  const explained = `${message}; submission ${predecessor} had nonce ${missing}, and has failed`;
  return {
    reason,
    message: explained,
    values: { ...values, missingHolder: "failed", submission: predecessor },
  };
}

type SignedPlaced = SignedSubmission & { readonly submission: QueuedSubmission };

interface Signed {
  /** The submissions that were stored as signed; others were no longer queued. */
  readonly signed: readonly InFlightSubmission[];
  /** The custody has not signed all yet. */
  readonly waits: boolean;
}

async function signAndStore(
  held: HeldLane,
  placed: readonly Placed[],
  { store, laneSigner, broadcastBuffer }: LaneContext,
): Promise<Signed> {
  if (placed.length === 0) return { signed: [], waits: false };
  const requests = placed.map(
    ({ submission, waiverNonce }): LaneSignRequest => ({
      id: submission.id,
      innerRaw: submission.innerRaw,
      waiverNonce,
    }),
  );
  const wrappers = await laneSigner.sign(requests);
  const waits = wrappers.length < placed.length;
  if (wrappers.length === 0) return { signed: [], waits };
  const signed = wrappers.map((wrapper, i): SignedPlaced => {
    const one = placed[i];
    if (one === undefined) throw new Error("the signer returned more wrappers than it was given");
    return { ...one, ...wrapper, id: one.submission.id };
  });
  const moved = await broadcastBuffer.storeAlongside(held, (broadcast) =>
    saveSigned(store, held, signed, broadcast),
  );
  const origins = new Map(moved.signed.map(({ id, origin }) => [id, origin]));
  const inFlight = signed.flatMap((one) => {
    const origin = origins.get(one.id);
    return origin === undefined ? [] : [toInFlight(one, origin)];
  });
  return { signed: inFlight, waits };
}

/** Leaves out what the custody does not sign at present, and what the sender has behind it. */
function beforeRefused(plan: SenderPlan, { laneSigner }: LaneContext): SenderPlan {
  const refused = plan.ready.findIndex(({ id }) => laneSigner.isRefused(id));
  return refused < 0 ? plan : { ...plan, ready: plan.ready.slice(0, refused) };
}

function toInFlight(
  { submission, waiverNonce, wrapperRaw, wrapperHash }: SignedPlaced,
  origin: string,
): InFlightSubmission {
  const { id, innerHash, sender, senderNonce } = submission;
  return {
    id,
    state: "signed",
    signings: submission.signings + 1,
    waiverNonce,
    wrapperRaw,
    wrapperHash,
    innerHash,
    sender,
    senderNonce,
    origin,
  };
}
