import { bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import {
  type AssignedNonce,
  findAssignedNonces,
  findFirstUnusedNonce,
} from "../../store/lanes/nonces/waiverNonces.js";
import type { LaneSnapshot, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import type { Store } from "../../store/store.js";
import type { LaneContext } from "../context.js";
import { requeueMisplaced } from "../law/requeueMisplaced.js";
import { freeNonces } from "./plan.js";

// Waiver nonces for submissions that are ready. A nonce that no wrapper takes holds up every nonce above it, so gaps
// are filled before anything goes above them.

/** A submission and the waiver nonce that it gets. */
export interface Placed {
  readonly submission: QueuedSubmission;
  readonly waiverNonce: bigint;
}

function place(ready: readonly QueuedSubmission[], nonces: readonly bigint[]): Placed[] {
  return ready.map((submission, i) => ({ submission, waiverNonce: nonces[i] ?? 0n }));
}

/**
 * Blocks take wrappers in the order of the waiver's nonces, so a nonce of a sender behind a later one would hold up both, and the
 * lane with them.
 * @param placed in the order of the waiver nonces.
 * @throws if that is so.
 */
export function assertSendersInOrder(placed: readonly Placed[]): void {
  const last = new Map<string, bigint>();
  for (const { submission, waiverNonce } of placed) {
    const sender = bytesToHex(submission.sender);
    const before = last.get(sender);
    if (before !== undefined && before >= submission.senderNonce) {
      throw new Error(
        `the nonce ${submission.senderNonce} of ${sender} would come after its nonce ${before}, at the waiver nonce ${waiverNonce}`,
      );
    }
    last.set(sender, submission.senderNonce);
  }
}

/**
 * Places the submissions above the assigned waiver nonces if these leave no gap, which is nearly always so.
 * @param chainNonce the chain's next nonce of the waiver.
 * @returns undefined if there is a gap.
 */
export function placeAbove(
  { assigned, nextAfterIncluded }: LaneSnapshot,
  chainNonce: bigint,
  ready: readonly QueuedSubmission[],
): Placed[] | undefined {
  const first = chainNonce > nextAfterIncluded ? chainNonce : nextAfterIncluded;
  const { lowest, highest } = assigned;
  const isDense = first >= lowest && highest - lowest + 1n === BigInt(assigned.count);
  if (assigned.count > 0 && first <= highest && !isDense) return undefined;
  const next = assigned.count > 0 && highest >= first ? highest + 1n : first;
  return place(ready, freeNonces(next, new Set(), ready.length));
}

/**
 * Places the submissions at the lowest free waiver nonces. Where they are too few to fill the gaps, the highest of the
 * lane go back to the queue, to come again under the missing nonces.
 * @returns undefined if some were queued again: then take another step.
 */
export async function placeInGaps(
  held: HeldLane,
  chainNonce: bigint,
  ready: readonly QueuedSubmission[],
  { store, onNoncesFreed }: Pick<LaneContext, "store" | "onNoncesFreed">,
): Promise<Placed[] | undefined> {
  const assigned = await findAssignedNonces(store, held);
  // Read after the assigned nonces: a nonce that a block takes in between counts as assigned and as used, never as free.
  const first = await findFirstUnusedNonce(store, held, chainNonce);
  const { fillers, nonFillers } = splitByGap(ready, first, assigned);
  const unfilled = submissionsToRequeue(first, assigned, fillers.length);
  const options = { afterMs: 0, store, onNoncesFreed };
  const requeued = await requeueMisplaced(held, unfilled, "nonces unfilled", options);
  if (requeued.length > 0) return undefined;
  const nonces = freeNonces(first, new Set(assigned.map(({ waiverNonce }) => waiverNonce)), ready.length);
  return place([...fillers, ...nonFillers], nonces);
}

/**
 * Separates the submissions that may fill a gap from those whose sender has one above the gap: there a later nonce of the
 * sender would be sent before an earlier one.
 */
function splitByGap(
  ready: readonly QueuedSubmission[],
  first: bigint,
  assigned: readonly AssignedNonce[],
): { fillers: QueuedSubmission[]; nonFillers: QueuedSubmission[] } {
  const gap = firstFree(first, assigned);
  const above = new Set(assigned.filter(({ waiverNonce }) => waiverNonce > gap).map(({ sender }) => sender));
  const mayFill = ({ sender }: QueuedSubmission) => !above.has(Buffer.from(sender).toString("hex"));
  return {
    fillers: ready.filter(mayFill),
    nonFillers: ready.filter((submission) => !mayFill(submission)),
  };
}

/**
 * Finds the lowest waiver nonce that neither the chain has used nor a submission of the lane has.
 * @param chainNonce the chain's next nonce of the waiver, read before.
 */
export async function findLowestFreeNonce(store: Store, held: HeldLane, chainNonce: bigint): Promise<bigint> {
  const assigned = await findAssignedNonces(store, held);
  return firstFree(await findFirstUnusedNonce(store, held, chainNonce), assigned);
}

function firstFree(first: bigint, assigned: readonly AssignedNonce[]): bigint {
  return freeNonces(first, new Set(assigned.map(({ waiverNonce }) => waiverNonce)), 1)[0] ?? first;
}

/**
 * The submissions that go back to the queue, because so few ready ones cannot fill the gaps: the highest of the lane,
 * and their senders' others above the gap, so that no later nonce of a user is sent before an earlier one. A user's
 * nonce lets an InnerTx run only once, so a second wrapper of it does no harm.
 */
function submissionsToRequeue(
  first: bigint,
  assigned: readonly AssignedNonce[],
  fillerCount: number,
): AssignedNonce[] {
  const highest = assigned.at(-1)?.waiverNonce ?? first;
  const above = assigned.filter(({ waiverNonce }) => waiverNonce >= first).length;
  const gaps = Number(highest - first) + 1 - above;
  const missing = Math.min(gaps - fillerCount, above);
  if (assigned.length === 0 || highest < first || missing <= 0) return [];
  const gap = firstFree(first, assigned);
  const senders = new Set(assigned.slice(-missing).map(({ sender }) => sender));
  return assigned.filter(({ waiverNonce, sender }) => waiverNonce > gap && senders.has(sender));
}
