import { bytesEqual, type SendVerdict, type SendVerdictKind } from "@gas-waiver/protocol";
import type { Failure } from "../model/submission.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../store/lanes/inFlight.js";
import { findWithdrawnWrappers } from "../store/lanes/withdrawnWrappers.js";
import { saveRequeued } from "../store/transitions/saveRequeued.js";
import type { LaneContext } from "./context.js";
import type { LaneBreaker } from "./laneBreaker.js";
import { failSubmissions, reconcile } from "./reconcile.js";
import type { SenderGaps } from "./senderGaps.js";

/** Some wrappers were neither taken nor refused. The same bytes are to be sent again. */
export class NotBroadcastError extends Error {
  override readonly name = "NotBroadcastError";
}

/** A wrapper that was sent, and what the node's answer means. */
export interface AnsweredBroadcast {
  readonly submission: InFlightSubmission;
  readonly verdict: SendVerdict;
}

/** Pauses before what the node does not take yet is assigned again. */
const REQUEUE_MS = {
  "nonce gap": 50,
  "inner too early": 250,
  "inner too late": 250,
  "waiver unusable": 1_000,
} as const;
const NONCE_OCCUPIED_MS = 250;
const REQUEUED_KINDS = ["nonce gap", "inner too early", "inner too late", "waiver unusable"] as const;

/**
 * Moves every submission by what the node's answer to its wrapper means.
 * @throws {@link NotBroadcastError} if a signed wrapper may not be with the node afterwards.
 */
export async function applyAnswers(
  held: HeldLane,
  answered: readonly AnsweredBroadcast[],
  senderGaps: SenderGaps,
  breaker: Pick<LaneBreaker, "succeed" | "fail">,
  context: LaneContext,
): Promise<void> {
  const { store, metrics, broadcastBuffer } = context;
  for (const { verdict } of answered) metrics.sent(verdict.kind);
  const byKind = (kind: SendVerdictKind) => answered.filter(({ verdict }) => verdict.kind === kind);
  const submissionsOf = (kind: SendVerdictKind) => byKind(kind).map(({ submission }) => submission);
  const { blocked, undecided } = await senderGaps.classify(answered);
  const runnable = submissionsOf("accepted").filter(({ id }) => !blocked.has(id) && !undecided.has(id));
  broadcastBuffer.add(held, runnable);
  await saveRequeued(store, held, [...blocked], REQUEUE_MS["inner too early"]);
  await failRefused(held, byKind("refused"), context);
  for (const kind of REQUEUED_KINDS) {
    const ids = submissionsOf(kind).map(({ id }) => id);
    await saveRequeued(store, held, ids, REQUEUE_MS[kind]);
  }
  const tooLow = submissionsOf("nonce too low");
  await reconcile(held, tooLow, context);
  const known = await addKnown(held, tooLow, context);
  const withdrawn = await requeueBlockedByWithdrawn(held, submissionsOf("occupied"), context);
  await moveBreaker(answered, breaker);
  const remaining = answered.filter(
    ({ submission, verdict }) =>
      undecided.has(submission.id) ||
      (mustSendAgain(submission, verdict) && !known.has(submission.id) && !withdrawn.has(submission.id)),
  );
  await rejectRemaining(remaining, breaker);
}

/**
 * Finds the wrappers that the node has, and counts them as broadcast. A strict pool that holds a wrapper may answer to
 * the same bytes that their nonce is too low, because it expects the next one.
 */
async function addKnown(
  held: HeldLane,
  submissions: readonly InFlightSubmission[],
  { chain, broadcastBuffer }: LaneContext,
): Promise<ReadonlySet<string>> {
  if (submissions.length === 0) return new Set();
  const known = await chain.knowsTransactions(submissions.map(({ wrapperHash }) => wrapperHash));
  const found = submissions.filter((_, i) => known[i]);
  broadcastBuffer.add(held, found);
  return new Set(found.map(({ id }) => id));
}

/**
 * Queues what cannot have its nonce because a wrapper that the lane once took back still waits under it: that one may
 * wait for nonces below it, and they for this one. What cannot have its nonce because of somebody else's wrapper stays:
 * the chain will show whose it was.
 */
async function requeueBlockedByWithdrawn(
  held: HeldLane,
  occupied: readonly InFlightSubmission[],
  { store, chain }: LaneContext,
): Promise<ReadonlySet<string>> {
  if (occupied.length === 0) return new Set();
  const nonces = occupied.map(({ waiverNonce }) => waiverNonce);
  const withdrawn = await findWithdrawnWrappers(store, held, nonces);
  const known = await chain.knowsTransactions(withdrawn.map(({ wrapperHash }) => wrapperHash));
  const inPool = new Map(
    withdrawn.filter((_, i) => known[i]).map(({ waiverNonce, wrapperHash }) => [waiverNonce, wrapperHash]),
  );
  const ids = occupied
    .filter(({ waiverNonce, wrapperHash }) => {
      const other = inPool.get(waiverNonce);
      return other !== undefined && !bytesEqual(other, wrapperHash);
    })
    .map(({ id }) => id);
  await saveRequeued(store, held, ids, NONCE_OCCUPIED_MS);
  return new Set(ids);
}

/**
 * Fails what the node refuses for good, once the chain was asked. The node may have taken the wrapper before and the
 * answer was lost: a rule that has changed since then undoes no block, and what waits in the pool may still run.
 */
async function failRefused(
  held: HeldLane,
  refused: readonly AnsweredBroadcast[],
  context: LaneContext,
): Promise<void> {
  const submissions = refused.map(({ submission }) => submission);
  await reconcile(held, submissions, context);
  const known = await addKnown(held, submissions, context);
  const failures = refused.flatMap(({ submission: { id }, verdict }): (Failure & { id: string })[] => {
    if (verdict.kind !== "refused" || known.has(id)) return [];
    return [{ id, reason: verdict.reason, message: `the chain's node refuses it: ${verdict.said}` }];
  });
  await failSubmissions(held, failures, context);
}

async function moveBreaker(
  answered: readonly AnsweredBroadcast[],
  breaker: Pick<LaneBreaker, "succeed" | "fail">,
): Promise<void> {
  const unusable = answered.find(({ verdict }) => verdict.kind === "waiver unusable");
  if (unusable) {
    await breaker.fail("at once", `the node takes no wrapper of this waiver: ${messageOf(unusable)}`);
  } else if (answered.some(({ verdict }) => verdict.kind === "accepted")) await breaker.succeed();
}

/** Whether the same bytes must go out again. The watcher sends again what was broadcast before. */
function mustSendAgain(submission: InFlightSubmission, { kind }: SendVerdict): boolean {
  const undecidedKinds = ["occupied", "not now", "disputed", "ambiguous", "nonce too low"];
  return submission.state === "signed" && undecidedKinds.includes(kind);
}

async function rejectRemaining(
  remaining: readonly AnsweredBroadcast[],
  breaker: Pick<LaneBreaker, "succeed" | "fail">,
): Promise<void> {
  if (remaining[0] === undefined) return;
  const why = `${remaining[0].verdict.kind}: ${messageOf(remaining[0])}`;
  // Nodes that are away are away for every lane. Only what concerns this lane counts against it.
  if (remaining.some(({ verdict }) => verdict.kind === "occupied" || verdict.kind === "disputed")) {
    await breaker.fail("once", `the node does not take this waiver's wrappers: ${why}`);
  }
  throw new NotBroadcastError(`${remaining.length} wrapper(s) were not broadcast: ${why}`);
}

function messageOf({ verdict }: AnsweredBroadcast): string {
  return "said" in verdict ? verdict.said : "";
}
