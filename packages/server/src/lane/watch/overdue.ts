import { bytesEqual } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { WatchContext } from "../context.js";
import { RECEIPT_BATCH } from "../law/chainOutcomes.js";
import { reconcile } from "../law/reconcile.js";
import { requeueMisplaced } from "../law/requeueMisplaced.js";
import { NotBroadcastError } from "../send/applyAnswers.js";
import type { Broadcaster } from "../send/broadcaster.js";
import { missingPredecessors, readSenderTurns, type SenderTurns } from "../send/senderGaps.js";

/** The wrappers of one lane that wait too long for a block. */
export interface Overdue {
  /**
   * Sends them again, the same bytes. A submission whose sender's nonce the chain has used is reconciled instead: another
   * wrapper carried the InnerTx, or another transaction has the nonce. Its own wrapper can land no more, and would stop the
   * lane if it held the waiver's next nonce.
   */
  settle(held: HeldLane, options: OverdueOptions): Promise<void>;
}

export interface OverdueOptions {
  /** The waiver's next nonce. */
  readonly waiverNonce: bigint;
  /** False for a stopped lane: then submissions are reconciled, and nothing is sent. */
  readonly mayResend: boolean;
}

/** The submissions that are looked at in one call. */
const MAX_SUBMISSIONS = 2 * RECEIPT_BATCH;

export function createOverdue(context: WatchContext, broadcaster: Broadcaster): Overdue {
  const { store, chain, options, broadcastBuffer, headOfLine } = context;
  const findStale = async (held: HeldLane, waiverNonce: bigint) => {
    const areAllStale = headOfLine.takeLoss();
    if (areAllStale) await broadcastBuffer.flush(held.waiver);
    const age = areAllStale ? {} : { sentBeforeMs: options.resendAfterMs };
    return findInFlight(store, held, {
      ...{ state: "broadcast", from: waiverNonce, limit: MAX_SUBMISSIONS },
      ...age,
    });
  };
  return {
    async settle(held, { waiverNonce, mayResend }) {
      const stale = await findStale(held, waiverNonce);
      if (stale.length === 0) return;
      const turns = await readSenderTurns(stale, chain);
      const hasPassed = ({ sender, senderNonce }: InFlightSubmission) => senderNonce < turns.of(sender);
      await reconcile(held, stale.filter(hasPassed), context);
      if (!mayResend) return;
      const waiting = stale.filter((submission) => !hasPassed(submission));
      const requeued = await requeueStuck(held, waiting, waiverNonce, turns, context);
      const resent = waiting.filter(({ id }) => !requeued.has(id));
      await untilLater(broadcaster.send(held, resent));
    },
  };
}

/**
 * Queues submissions that cannot run, because the sender's previous nonce failed or was queued again: no wrapper in front
 * carries the nonce. While a pool keeps such a wrapper, the wrappers behind it wait too. But a wrapper in a pool may still
 * land, so a submission is queued only after the node has dropped its wrapper, and with it the sender's later ones.
 * @returns the ids whose wrappers are not to be sent again.
 */
async function requeueStuck(
  held: HeldLane,
  stale: readonly InFlightSubmission[],
  waiverNonce: bigint,
  turns: SenderTurns,
  { store, chain, options, log, onNoncesFreed }: WatchContext,
): Promise<ReadonlySet<string>> {
  if (stale.length === 0) return new Set();
  const all = await findInFlight(store, held, { from: waiverNonce, limit: options.maxInFlight });
  const waiting = new Set(missingPredecessors(turns, all).map(({ submission }) => submission.id));
  const candidates = stale.filter(({ id }) => waiting.has(id));
  if (candidates.length === 0) return new Set();
  const presences = await chain.lookUp(candidates.map(({ wrapperHash }) => wrapperHash));
  const dropped = candidates.filter((_, i) => presences[i]?.is === "absent");
  const stuck = all.filter((other) => dropped.some((first) => isSenderBehind(first, other)));
  const ids = new Set(stuck.map(({ id }) => id));
  const requeued = await requeueMisplaced(held, stuck, "sender gap", { afterMs: 0, store, onNoncesFreed });
  if (requeued.length > 0) {
    log.info({ ids: requeued.map(({ id }) => id) }, "submissions wait for their senders' earlier ones");
  }
  return ids;
}

/** Whether `other` is of the same sender and at the same place in the lane or behind it. */
function isSenderBehind(first: InFlightSubmission, other: InFlightSubmission): boolean {
  return other.waiverNonce >= first.waiverNonce && bytesEqual(other.sender, first.sender);
}

/** Waits for a send. A later poll sends again the wrappers that the node does not take now. */
export async function untilLater(sending: Promise<void>): Promise<void> {
  try {
    await sending;
  } catch (error) {
    if (!(error instanceof NotBroadcastError)) throw error;
  }
}
