import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { WatchContext } from "../context.js";
import { RECEIPT_BATCH } from "../law/chainOutcomes.js";
import { reconcile } from "../law/reconcile.js";
import { NotBroadcastError } from "../send/applyAnswers.js";
import type { Broadcaster } from "../send/broadcaster.js";
import { readSenderTurns } from "../send/senderTurns.js";

export interface OverdueOptions {
  /** The waiver's next nonce. */
  readonly waiverNonce: bigint;
  /** False for a stopped lane: then submissions are reconciled, and nothing is sent. */
  readonly mayResend: boolean;
}

/** The submissions that are looked at in one call. */
const MAX_SUBMISSIONS = 2 * RECEIPT_BATCH;

/**
 * Sends the lane's wrappers that wait too long for a block again, the same bytes. A submission whose sender's nonce the chain
 * has used is reconciled instead: another wrapper carried the InnerTx, or another transaction has the nonce.
 */
export async function settleOverdue(
  held: HeldLane,
  { waiverNonce, mayResend }: OverdueOptions,
  context: WatchContext,
  broadcaster: Broadcaster,
): Promise<void> {
  const { store, chain, options, broadcastBuffer, headOfLine } = context;
  const areAllStale = headOfLine.takeLoss();
  if (areAllStale) await broadcastBuffer.flush(held.waiver);
  const stale = await findInFlight(store, held, {
    ...{ state: "broadcast", from: waiverNonce, limit: MAX_SUBMISSIONS },
    ...(areAllStale ? {} : { sentBeforeMs: options.resendAfterMs }),
  });
  if (stale.length === 0) return;
  const turns = await readSenderTurns(stale, chain);
  const hasPassed = ({ sender, senderNonce }: InFlightSubmission) => senderNonce < turns.of(sender);
  await reconcile(held, stale.filter(hasPassed), context);
  const waiting = stale.filter((submission) => !hasPassed(submission));
  if (mayResend) await untilLater(broadcaster.send(held, waiting));
}

/** Waits for a send. A later poll sends again the wrappers that the node does not take now. */
export async function untilLater(sending: Promise<void>): Promise<void> {
  try {
    await sending;
  } catch (error) {
    if (!(error instanceof NotBroadcastError)) throw error;
  }
}
