import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findFirstUnusedNonce, findInFlight } from "../../store/lanes/nonces/inFlight.js";
import type { LaneNonces, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import type { Store } from "../../store/store.js";
import type { LaneContext } from "../context.js";
import { requeueMisplaced } from "../law/requeue.js";
import { keepBegun } from "./keepBegun.js";
import {
  type Assigned,
  assertSendersInOrder,
  lowestFreeNonce,
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
  { store, onNoncesFreed }: Pick<LaneContext, "store" | "onNoncesFreed">,
): Promise<readonly Placed[] | undefined> {
  const { first, assigned } = await findNonces(store, held, chainNonce);
  const { unfilled, placed } = planGaps(first, assigned, ready);
  const options = { afterMs: 0, store, onNoncesFreed };
  const requeued = await requeueMisplaced(held, unfilled, "nonces unfilled", options);
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
