import { noteSigned } from "../../chain/evidence.js";
import type { LaneSigner } from "../../signing/laneSigner.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import {
  findFirstUnusedNonce,
  findInFlight,
  type InFlightSubmission,
} from "../../store/lanes/nonces/inFlight.js";
import type { LaneNonces, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import type { Store } from "../../store/store.js";
import type { SignedSubmission } from "../../store/transitions/saveSigned.js";
import type { LaneContext } from "../context.js";
import { requeueMisplaced } from "../law/requeue.js";
import {
  type Assigned,
  assertSendersInOrder,
  keepBegun,
  lowestFreeNonce,
  type Placeable,
  type Placed,
  placeAbove,
  planGaps,
} from "./placement.js";

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

/** A submission with its waiver nonce and its signed wrapper. */
export type SignedPlaced<T extends Placeable = Placeable> = SignedSubmission & { readonly submission: T };

/**
 * Signs the wrappers of placed submissions.
 * @param head the height of the chain, if it is known.
 * @returns the first ones, where the custody has not signed all yet.
 */
export async function signPlaced<T extends Placeable>(
  placed: readonly Placed<T>[],
  laneSigner: Pick<LaneSigner, "sign">,
  head?: bigint,
): Promise<readonly SignedPlaced<T>[]> {
  const requests = placed.map(({ submission: { id, innerRaw }, waiverNonce }) => ({
    id,
    innerRaw,
    waiverNonce,
  }));
  const wrappers = await laneSigner.sign(requests);
  return wrappers.map(({ wrapperRaw, wrapperHash }, i): SignedPlaced<T> => {
    const one = placed[i];
    if (one === undefined) throw new Error("the signer returned more wrappers than it was given");
    const { submission, waiverNonce } = one;
    const { id, signings } = submission;
    noteSigned({ wrapperRaw, wrapperHash });
    return { submission, waiverNonce, wrapperRaw, wrapperHash, id, signings, head };
  });
}

/** A submission that a step has signed and stored, and the places in flight that it takes. */
export type SignedInFlight = InFlightSubmission & { readonly slots: number };

/** @param origin the replica whose clients wait for the result. */
export function toInFlight(
  { submission, waiverNonce, wrapperRaw, wrapperHash }: SignedPlaced,
  origin: string,
): SignedInFlight {
  const { id, innerHash, sender, senderNonce, keyId } = submission;
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
    keyId,
    origin,
    slots: submission.slots,
  };
}
