import { bytesToHex, decodeInnerTx } from "@gas-waiver/protocol";
import { reserveCaps } from "../../store/keys/reserveCaps.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findLowestNoncesElsewhere } from "../../store/lanes/nonces/missingNonces.js";
import {
  MIN_READ_PER_SENDER,
  type QueuedSender,
  type QueuedSubmission,
} from "../../store/lanes/queue/laneSnapshot.js";
import { unparkNext } from "../../store/transitions/unparkNext.js";
import type { LaneContext } from "../context.js";
import { type ExpiredSubmission, failExpired } from "../law/reconcile.js";
import type { GapFailure, SenderPlan } from "./plan.js";

// Submissions that are ahead of their turn wait beside the queue, so that they take no place in a step. Of each sender only
// the first is read again after a pause. The rest are parked, and read with the first or with a new submission of the
// sender. A step that takes submissions out of the queue unparks the next one.

/**
 * The pause of what cannot be signed now for another reason than want of room, in ms: no node tells the sender's nonce, no lane that
 * may carry it takes work, the custody does not sign, or blocks have left such wrappers out.
 */
export const HELD_BACK_MS = 1_000;

/** A snapshot may have left out higher nonces of this sender. */
const mayHaveUnread = ({ queued }: QueuedSender) => queued.length >= MIN_READ_PER_SENDER;

/**
 * Unparks the next submission of each sender of which some submissions have left the queue.
 * @param leftQueue the ids of those that were signed or have failed.
 */
export async function unparkNextOfSenders(
  held: HeldLane,
  senders: readonly QueuedSender[],
  leftQueue: ReadonlySet<string>,
  { store, routing }: Pick<LaneContext, "store" | "routing">,
): Promise<void> {
  const hasParkedNext = (sender: QueuedSender) => {
    const { queued } = sender;
    const hasLeft = ({ id }: QueuedSubmission) => leftQueue.has(id);
    if (!queued.some(hasLeft)) return false;
    const next =
      queued.find((submission) => !hasLeft(submission)) ??
      (mayHaveUnread(sender) ? queued.at(-1) : undefined);
    // Where policies differ, the next one may be in another lane.
    return next ? next.isWaiting : routing.policiesDiffer();
  };
  await unparkNext(
    store,
    held,
    senders.filter(hasParkedNext).map(({ sender }) => sender),
  );
}

/**
 * Turns failures by `NONCE_GAP` (D20) into waiting if the earlier nonce is not missing after all. Each node that tells the sender's
 * nonce must say that it is: cosmos/evm tells 0 of any account while it cannot read its state. The store is asked after the chain:
 * a node may take seconds to answer, and meanwhile the nonce may have been accepted, and included. Another lane
 * may hold it, too: where the waivers' policies differ, a sender's transactions are in several lanes and wait for each other.
 * After a failover that may have lost commits, nothing fails for a gap until the chain has had blocks: the missing nonce may be
 * in a wrapper that the store has lost.
 * @param senders the owners of the plans, in the same order.
 */
export async function excuseNonceGaps(
  held: HeldLane,
  senders: readonly QueuedSender[],
  plans: readonly SenderPlan[],
  { store, chain }: Pick<LaneContext, "store" | "chain">,
): Promise<readonly SenderPlan[]> {
  const failing = senders.flatMap(({ sender, queued }, i) => {
    const [first] = plans[i]?.failed ?? [];
    return first ? [{ sender, queued, next: first.missing }] : [];
  });
  if (failing.length === 0) return plans;
  const told = await chain.noncesByEach(failing.map(({ sender }) => sender));
  const isMissing = (next: bigint, nonces: readonly bigint[] = []) =>
    nonces.length > 0 && nonces.every((nonce) => nonce <= next);
  const missing = new Set(
    failing.flatMap(({ sender, next }, i) => (isMissing(next, told[i]) ? bytesToHex(sender) : [])),
  );
  const isStoreWhole = await store.moves.isChainPastMove(() => chain.blockNumber());
  const lowest = await findLowestNoncesElsewhere(store, held, {
    senders: failing,
    except: failing.flatMap(({ queued }) => queued.map(({ id }) => id)),
  });
  const isExcused = ({ submission: { sender, senderNonce } }: GapFailure) => {
    const elsewhere = lowest.get(Buffer.from(sender).toString("hex"));
    const isElsewhere = elsewhere !== undefined && elsewhere < senderNonce;
    return !isStoreWhole || isElsewhere || !missing.has(bytesToHex(sender));
  };
  return plans.map((plan) => {
    const excused = plan.failed.filter(isExcused).map(({ submission }) => submission);
    const failed = plan.failed.filter((gap) => !isExcused(gap));
    return { ...plan, early: [...plan.early, ...excused], failed };
  });
}

interface Reserved {
  /** Those that may be signed, in their order. */
  readonly chosen: readonly QueuedSubmission[];
  /** The ids of those that have failed, because a cap has no room for them. */
  readonly failed: readonly string[];
  /** Somebody holds the caps of their keys, or a lower nonce of their senders is not signed. */
  readonly left: readonly QueuedSubmission[];
}

/** Reserves the daily caps (D25) of what waited for its turn unreserved, and fails what does not fit any more. */
export async function reserveChosen(
  held: HeldLane,
  chosen: readonly QueuedSubmission[],
  context: LaneContext,
): Promise<Reserved> {
  const waiting = chosen.filter(({ isUnreserved }) => isUnreserved);
  if (waiting.length === 0) return { chosen, failed: [], left: [] };
  const unreserved = waiting.map(({ id, keyId, innerRaw }) => {
    return { id, keyId, gasLimit: decodeInnerTx(innerRaw).gasLimit };
  });
  const results = await reserveCaps(context.store, unreserved);
  const expired = [...results].flatMap(([id, failure]): ExpiredSubmission[] =>
    // It was never signed: nothing else waits unreserved.
    failure ? [{ id, openWrappers: 0, expiry: { kind: "cap reached", failure } }] : [],
  );
  const failedIds = new Set(await failExpired(held, expired, context));
  const stopped = new Set<string>();
  const mayBeSigned = ({ id, isUnreserved, sender: bytes }: QueuedSubmission) => {
    const sender = bytesToHex(bytes);
    const isReserved = !isUnreserved || (results.has(id) && !failedIds.has(id));
    if (!isReserved) stopped.add(sender);
    return !stopped.has(sender);
  };
  const signable = chosen.filter(mayBeSigned);
  const signableIds = new Set(signable.map(({ id }) => id));
  const left = chosen.filter(({ id }) => !signableIds.has(id) && !failedIds.has(id));
  return { chosen: signable, failed: [...failedIds], left };
}
