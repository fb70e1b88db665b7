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
  "id" | "keyId" | "innerRaw" | "innerHash" | "sender" | "senderNonce" | "signings" | "strikes" | "slots"
>;

/** A submission and the waiver nonce that it gets. */
export interface Placed<T extends Placeable = QueuedSubmission> {
  readonly submission: T;
  readonly waiverNonce: bigint;
}

/** A submission with the waiver nonce that it has already. */
export type Assigned = Pick<
  InFlightSubmission,
  "id" | "state" | "sender" | "senderNonce" | "waiverNonce" | "wrapperHash"
>;

function placeFrom<T extends Placeable>(nonce: bigint, ready: readonly T[]): Placed<T>[] {
  return ready.map((submission, i) => ({ submission, waiverNonce: nonce + BigInt(i) }));
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
  return placeFrom(next, ready);
}

/** The way in which a step fills the gaps of a lane. */
export interface GapPlan {
  /** The submissions that go back to the queue before anything is placed; empty if the ready ones fill all gaps. */
  readonly unfilled: readonly Assigned[];
  /** Ready submissions at the lowest free waiver nonces: all of them, unless gaps stay. */
  readonly placed: readonly Placed[];
}

/**
 * Plans the submissions at the lowest free waiver nonces. A gap that no ready one may fill gets a wrapper from above: the highest that is
 * the first of its sender there. That one is queued again, and leaves a gap, which is filled in the same way. So few wrappers move: a pool
 * may keep the old one of each, and refuse others under that nonce until a block shows the InnerTx elsewhere.
 * @param first the lowest waiver nonce that may be free.
 * @param assigned the waiver nonces of the lane, ascending.
 * @param upTo gaps above this nonce stay.
 */
export function planGaps(
  first: bigint,
  assigned: readonly Assigned[],
  ready: readonly QueuedSubmission[],
  upTo?: bigint,
): GapPlan {
  const placed: Placed[] = [];
  const unfilled: Assigned[] = [];
  const rest = withSenders(ready);
  const above = withSenders(assigned.filter(({ waiverNonce }) => waiverNonce >= first));
  let nonce = first;
  for (; above.size > 0 && (upTo === undefined || nonce <= upTo); nonce++) {
    const [lowest] = above.keys();
    if (lowest?.waiverNonce === nonce) {
      above.delete(lowest);
      continue;
    }
    const firsts = firstOfSenders(above);
    const [filler] =
      [...rest].find(([{ senderNonce }, sender]) => {
        const other = firsts.get(sender);
        return other === undefined || senderNonce < other.senderNonce;
      }) ?? [];
    const moved = filler ? undefined : [...firsts.values()].at(-1);
    if (filler) placed.push({ submission: filler, waiverNonce: nonce });
    if (filler) rest.delete(filler);
    if (moved) unfilled.push(moved);
    if (moved) above.delete(moved);
  }
  return { unfilled, placed: above.size > 0 ? placed : [...placed, ...placeFrom(nonce, [...rest.keys()])] };
}

/** In their order, with their senders' names: a lane may have many gaps, for each of which all are looked through. */
function withSenders<T extends Pick<Assigned, "sender">>(some: readonly T[]): Map<T, string> {
  return new Map(some.map((one) => [one, bytesToHex(one.sender)]));
}

/** The lowest of each sender, ascending. */
function firstOfSenders(assigned: ReadonlyMap<Assigned, string>): Map<string, Assigned> {
  const firsts = new Map<string, Assigned>();
  for (const [one, sender] of assigned) if (!firsts.has(sender)) firsts.set(sender, one);
  return firsts;
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
 * @param upTo gaps above this nonce stay.
 * @returns in the order of the waiver nonces; undefined if some submissions were queued again: then take another step.
 */
export async function placeReady(
  held: HeldLane,
  known: LaneNonces,
  chainNonce: bigint,
  ready: readonly QueuedSubmission[],
  upTo: bigint | undefined,
  context: Pick<LaneContext, "store" | "onNoncesFreed" | "laneSigner">,
): Promise<readonly Placed[] | undefined> {
  const above = placeAbove(known, chainNonce, ready);
  const placed = above
    ? keepBegun(above, context.laneSigner.begun)
    : await placeInGaps(held, chainNonce, ready, upTo, context);
  if (placed) assertSendersInOrder(placed);
  return placed;
}

/**
 * Places the submissions at the lowest free waiver nonces, or makes submissions of the lane ready for these first.
 * @returns undefined if some were queued again: then take another step.
 */
async function placeInGaps(
  held: HeldLane,
  chainNonce: bigint,
  ready: readonly QueuedSubmission[],
  upTo: bigint | undefined,
  context: Pick<LaneContext, "store" | "onNoncesFreed">,
): Promise<readonly Placed[] | undefined> {
  const { first, assigned } = await findNonces(context.store, held, chainNonce);
  const { unfilled, placed } = planGaps(first, assigned, ready, upTo);
  const requeued = await requeueMisplaced(held, unfilled, "nonces unfilled", context);
  return requeued.length > 0 ? undefined : placed;
}

/**
 * Finds the lowest waiver nonce that neither the chain has used nor a submission of the lane has.
 * @param chainNonce the chain's next nonce of the waiver, read before.
 */
export async function findLowestFreeNonce(store: Store, held: HeldLane, chainNonce: bigint): Promise<bigint> {
  const { first, assigned } = await findNonces(store, held, chainNonce);
  const taken = new Set(assigned.map(({ waiverNonce }) => waiverNonce));
  let nonce = first;
  while (taken.has(nonce)) nonce++;
  return nonce;
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
    const { id, innerHash, sender, senderNonce, keyId, signings, strikes, slots } = one.submission;
    noteSigned({ wrapperRaw, wrapperHash });
    const wrapper = { waiverNonce: one.waiverNonce, wrapperRaw, wrapperHash, signings: signings + 1, head };
    return { id, state: "signed", innerHash, sender, senderNonce, keyId, origin, strikes, slots, ...wrapper };
  });
}
