import { bytesToHex } from "@gas-waiver/protocol";
import { noteSigned } from "../../chain/evidence.js";
import type { LaneSigner } from "../../signing/laneSigner.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { LaneNonces, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import {
  findFirstUnusedNonce,
  findInFlight,
  type InFlightSubmission,
} from "../../store/lanes/queue/unfinished.js";
import type { Store } from "../../store/store.js";
import type { SignedSubmission } from "../../store/transitions/saveSigned.js";
import type { LaneContext } from "../context.js";
import { requeueMisplaced } from "../law/requeue.js";

// Waiver nonces for submissions that are ready. A nonce that no wrapper takes holds up every nonce above it, so gaps
// are filled before anything goes above them.

/** A submission, as far as a wrapper and its entry in flight need it. */
export type Placeable = Pick<
  QueuedSubmission,
  "id" | "keyId" | "innerRaw" | "innerHash" | "sender" | "senderNonce" | "signings" | "slots"
>;

/** A submission and the waiver nonce that it gets. */
export interface Placed<T extends Placeable = QueuedSubmission> {
  readonly submission: T;
  readonly waiverNonce: bigint;
}

/** A submission with the waiver nonce that it has already. */
export type Assigned = Pick<InFlightSubmission, "id" | "state" | "sender" | "waiverNonce" | "wrapperHash">;

function place<T extends Placeable>(ready: readonly T[], nonces: readonly bigint[]): Placed<T>[] {
  return ready.map((submission, i) => ({ submission, waiverNonce: nonces[i] ?? 0n }));
}

/**
 * Blocks take wrappers in the order of the waiver's nonces. A sender's nonce behind a later one of the sender would hold up the
 * lane.
 * @param placed in the order of the waiver nonces.
 * @throws if a later nonce of a sender comes before an earlier one.
 */
export function assertSendersInOrder(placed: readonly Placed<Placeable>[]): void {
  const late = findOutOfOrder(placed);
  if (late === undefined) return;
  const { submission, waiverNonce } = late;
  const nonce = `the nonce ${submission.senderNonce} of ${bytesToHex(submission.sender)}`;
  throw new Error(`${nonce} would come after a later one, at the waiver nonce ${waiverNonce}`);
}

/** Finds one that comes after a later nonce of its sender. */
function findOutOfOrder<T extends Placeable>(placed: readonly Placed<T>[]): Placed<T> | undefined {
  const last = new Map<string, bigint>();
  return placed.find(({ submission }) => {
    const sender = bytesToHex(submission.sender);
    const before = last.get(sender);
    last.set(sender, submission.senderNonce);
    return before !== undefined && before >= submission.senderNonce;
  });
}

/**
 * Places the submissions above the assigned waiver nonces if these leave no gap, which is nearly always so.
 * @param chainNonce the chain's next nonce of the waiver.
 * @returns undefined if there is a gap.
 */
export function placeAbove<T extends Placeable>(
  { assigned, nextAfterIncluded }: LaneNonces,
  chainNonce: bigint,
  ready: readonly T[],
): Placed<T>[] | undefined {
  const first = chainNonce > nextAfterIncluded ? chainNonce : nextAfterIncluded;
  const { lowest, highest } = assigned;
  const isDense = first >= lowest && highest - lowest + 1n === BigInt(assigned.count);
  if (assigned.count > 0 && first <= highest && !isDense) return undefined;
  const next = assigned.count > 0 && highest >= first ? highest + 1n : first;
  return place(ready, freeNonces(next, new Set(), ready.length));
}

/** The way in which a step fills the gaps of a lane. */
export interface GapPlan {
  /** The submissions that go back to the queue before anything is placed; empty if the ready ones fill all gaps. */
  readonly unfilled: readonly Assigned[];
  /** All ready submissions, at the lowest free waiver nonces. */
  readonly placed: readonly Placed[];
}

/**
 * Plans the submissions at the lowest free waiver nonces. Where they are too few to fill the gaps, the highest of the lane
 * go back to the queue, to come again under the missing nonces.
 * @param first the lowest waiver nonce that may be free.
 * @param assigned the waiver nonces of the lane, ascending.
 */
export function planGaps(
  first: bigint,
  assigned: readonly Assigned[],
  ready: readonly QueuedSubmission[],
): GapPlan {
  const gap = lowestFreeNonce(first, assigned);
  // A filler of a sender with a nonce above the gap would send a later nonce of the sender before an earlier one.
  const above = new Set(
    assigned.filter(({ waiverNonce }) => waiverNonce > gap).map(({ sender }) => bytesToHex(sender)),
  );
  const mayFill = ({ sender }: QueuedSubmission) => !above.has(bytesToHex(sender));
  const fillers = ready.filter(mayFill);
  const inOrder = [...fillers, ...ready.filter((submission) => !mayFill(submission))];
  return {
    unfilled: submissionsToRequeue(first, assigned, fillers.length),
    placed: place(inOrder, freeNonces(first, noncesOf(assigned), ready.length)),
  };
}

/** Returns the lowest waiver nonce from `first` on that no submission of the lane has. */
export function lowestFreeNonce(first: bigint, assigned: readonly Assigned[]): bigint {
  return freeNonces(first, noncesOf(assigned), 1)[0] ?? first;
}

const noncesOf = (assigned: readonly Assigned[]) => new Set(assigned.map(({ waiverNonce }) => waiverNonce));

/**
 * Returns the submissions that go back to the queue because the ready ones cannot fill the gaps: the highest of the lane.
 * Every other submission of these senders above the gap goes back too, so that no later nonce of a sender is sent before an
 * earlier one. A second wrapper does no harm, because the sender's nonce lets an InnerTx run only once.
 */
function submissionsToRequeue(first: bigint, assigned: readonly Assigned[], fillerCount: number): Assigned[] {
  const highest = assigned.at(-1)?.waiverNonce ?? first;
  const above = assigned.filter(({ waiverNonce }) => waiverNonce >= first).length;
  const gaps = Number(highest - first) + 1 - above;
  const missing = gaps - fillerCount;
  if (missing <= 0) return [];
  const gap = lowestFreeNonce(first, assigned);
  const senders = new Set(assigned.slice(-missing).map(({ sender }) => bytesToHex(sender)));
  return assigned.filter(({ waiverNonce, sender }) => waiverNonce > gap && senders.has(bytesToHex(sender)));
}

/** Returns the lowest `count` waiver nonces from `first` on that are not taken, ascending. */
function freeNonces(first: bigint, taken: ReadonlySet<bigint>, count: number): bigint[] {
  const free: bigint[] = [];
  for (let nonce = first; free.length < count; nonce++) if (!taken.has(nonce)) free.push(nonce);
  return free;
}

/**
 * Keeps the nonces of submissions that a custody has begun to sign, so that no signature is wasted. The other submissions
 * get the remaining nonces in their order. No later nonce of a sender comes before an earlier one.
 * @param placed the submissions in the order of their waiver nonces, those of each sender in the order of their nonces.
 * @param begun the waiver nonces by the ids of the submissions.
 * @returns in the order of the waiver nonces; `placed` itself where the order of a sender allows nothing else.
 */
export function keepBegun(placed: readonly Placed[], begun: ReadonlyMap<string, bigint>): readonly Placed[] {
  if (begun.size === 0) return placed;
  const nonces = new Set(placed.map(({ waiverNonce }) => waiverNonce));
  const keptNonce = ({ submission }: Placed) => {
    const nonce = begun.get(submission.id);
    return nonce !== undefined && nonces.has(nonce) ? nonce : undefined;
  };
  const kept = new Map(placed.map((one) => [keptNonce(one), one]));
  const others = placed.filter((one) => keptNonce(one) === undefined);
  const arranged = placed.flatMap(({ waiverNonce }) => {
    const one = kept.get(waiverNonce) ?? others.shift();
    return one ? [{ ...one, waiverNonce }] : [];
  });
  return arranged.length < placed.length || findOutOfOrder(arranged) ? placed : arranged;
}

/**
 * Gives ready submissions their waiver nonces: above those that are assigned, or in the gaps between them.
 * @param chainNonce the chain's next nonce of the waiver.
 * @returns in the order of the waiver nonces; undefined if some submissions were queued again: then take another step.
 */
export async function placeReady(
  held: HeldLane,
  known: LaneNonces,
  chainNonce: bigint,
  ready: readonly QueuedSubmission[],
  context: Pick<LaneContext, "store" | "onNoncesFreed" | "laneSigner">,
): Promise<readonly Placed[] | undefined> {
  const above = placeAbove(known, chainNonce, ready);
  const placed = above
    ? keepBegun(above, context.laneSigner.begun)
    : await placeInGaps(held, chainNonce, ready, context);
  if (placed) assertSendersInOrder(placed);
  return placed;
}

/**
 * Places the submissions at the lowest free waiver nonces. If they are too few to fill the gaps, the highest submissions of
 * the lane are queued again instead.
 * @returns undefined if some were queued again: then take another step.
 */
async function placeInGaps(
  held: HeldLane,
  chainNonce: bigint,
  ready: readonly QueuedSubmission[],
  context: Pick<LaneContext, "store" | "onNoncesFreed">,
): Promise<readonly Placed[] | undefined> {
  const { first, assigned } = await findNonces(context.store, held, chainNonce);
  const { unfilled, placed } = planGaps(first, assigned, ready);
  const requeued = await requeueMisplaced(held, unfilled, "nonces unfilled", context);
  return requeued.length > 0 ? undefined : placed;
}

/**
 * Finds the lowest waiver nonce that neither the chain has used nor a submission of the lane has.
 * @param chainNonce the chain's next nonce of the waiver, read before.
 */
export async function findLowestFreeNonce(store: Store, held: HeldLane, chainNonce: bigint): Promise<bigint> {
  const { first, assigned } = await findNonces(store, held, chainNonce);
  return lowestFreeNonce(first, assigned);
}

async function findNonces(
  store: Store,
  held: HeldLane,
  chainNonce: bigint,
): Promise<{ first: bigint; assigned: readonly Assigned[] }> {
  const assigned = await findInFlight(store, held);
  // Read after the assigned nonces: a nonce that a block takes in between counts as assigned and as used, never as free.
  return { first: await findFirstUnusedNonce(store, held, chainNonce), assigned };
}

/** A submission with its signed wrapper, and the places in flight that it takes. */
export type SignedInFlight = InFlightSubmission & SignedSubmission & { readonly slots: number };

/**
 * Signs the wrappers of placed submissions.
 * @param origin the replica whose clients wait for the results, as far as it is known.
 * @param head the height of the chain, if it is known.
 * @returns the first ones, where the custody has not signed all yet.
 */
export async function signPlaced(
  placed: readonly Placed<Placeable>[],
  laneSigner: Pick<LaneSigner, "sign">,
  origin: string,
  head?: bigint,
): Promise<readonly SignedInFlight[]> {
  const requests = placed.map(({ submission: { id, innerRaw }, waiverNonce }) => {
    return { id, innerRaw, waiverNonce };
  });
  const wrappers = await laneSigner.sign(requests);
  return wrappers.map(({ wrapperRaw, wrapperHash }, i): SignedInFlight => {
    const one = placed[i];
    if (one === undefined) throw new Error("the signer returned more wrappers than it was given");
    const { id, innerHash, sender, senderNonce, keyId, signings, slots } = one.submission;
    noteSigned({ wrapperRaw, wrapperHash });
    const wrapper = { waiverNonce: one.waiverNonce, wrapperRaw, wrapperHash, signings: signings + 1, head };
    return { id, state: "signed", innerHash, sender, senderNonce, keyId, origin, slots, ...wrapper };
  });
}
