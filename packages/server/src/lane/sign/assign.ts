import type { Failure } from "../../model/submission/submission.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findFailedPredecessors } from "../../store/lanes/nonces/missingNonces.js";
import { countOpenWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import type { LaneSnapshot } from "../../store/lanes/queue/laneSnapshot.js";
import { saveSigned } from "../../store/transitions/saveSigned.js";
import type { LaneContext } from "../context.js";
import { decide } from "../law/law.js";
import { failSubmissions, reconcile } from "../law/reconcile.js";
import { type AssignOptions, type Evidence, gatherEvidence } from "./gatherEvidence.js";
import { type Placed, placeReady, type SignedInFlight, signPlaced, toInFlight } from "./placement.js";
import { chooseReady, type GapFailure, type SenderPlan } from "./plan.js";
import {
  EARLY_MS,
  excuseNonceGaps,
  HELD_BACK_MS,
  putOff,
  reserveChosen,
  unparkNextOfSenders,
} from "./waiting.js";

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
  const { snapshot, evidence } = await gatherEvidence(held, options, context);
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
export function setReady(isQueueEmpty: boolean, context: LaneContext): void {
  const { laneMemory, laneOffers, laneSigner } = context;
  // A custody that takes its time would delay the accept.
  const mayAccept = isQueueEmpty && laneSigner.window === Number.POSITIVE_INFINITY;
  laneOffers.setReady(mayAccept, laneMemory.hasInFlight);
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
  const hidden = waiting.hidden + (await putOff(held, heldBack, { afterMs: HELD_BACK_MS }, context));
  const placed = await placeReady(held, snapshot, waiverNonce, chosen, context);
  if (placed === undefined) return { ...NOTHING, ...work, stepAgain: true };
  const { onlyUnder } = options;
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
  await reconcile(held, late, context);
  const failed = await failUnsent(held, plans, context);
  // A late one whose outcome is not confirmed yet stays queued, and so does a failed one with an open wrapper.
  const alone = [...late, ...plans.flatMap((plan) => plan.failed)].filter(({ id }) => !failed.includes(id));
  const early = plans.flatMap((plan) => plan.early);
  const hidden = await putOff(held, early, { afterMs: EARLY_MS, isAhead: true, alone }, context);
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
  const signed = await signPlaced(placed, laneSigner, head?.());
  const waits = signed.length < placed.length;
  if (signed.length === 0) return { signed: [], waits };
  const moved = await saveSigned(store, held, signed);
  const origins = new Map(moved.map(({ id, origin }) => [id, origin]));
  const inFlight = signed.flatMap((one) => {
    const origin = origins.get(one.id);
    return origin === undefined ? [] : [toInFlight(one, origin)];
  });
  return { signed: inFlight, waits };
}

/** Leaves out submissions that the custody does not sign at present, and later ones of the sender. */
function beforeRefused(plan: SenderPlan, { laneSigner }: LaneContext): SenderPlan {
  const refused = plan.ready.findIndex(({ id }) => laneSigner.isRefused(id));
  return refused < 0 ? plan : { ...plan, ready: plan.ready.slice(0, refused) };
}
