import { bytesEqual, type SendVerdictKind } from "@gas-waiver/protocol";
import type { SendAnswer } from "../../chain/evidence.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import { countOpenWrappers, findWithdrawnWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import type { Store } from "../../store/store.js";
import type { FailedSubmission } from "../../store/transitions/saveFailed.js";
import { type RequeueOptions, saveRequeued } from "../../store/transitions/saveRequeued.js";
import { wakeQueued } from "../../store/transitions/wakeQueued.js";
import type { AnswerBreaker } from "../choose/laneBreaker.js";
import type { WatchContext } from "../context.js";
import type { RetryPace } from "../inbox/retryPace.js";
import { decide } from "../law/law.js";
import { failSubmissions, reconcile } from "../law/reconcile.js";
import { requeueMisplaced } from "../law/requeueMisplaced.js";
import { findLowestFreeNonce } from "../sign/placeInGaps.js";
import { type AnsweredBroadcast, kindOf, submissionOf } from "./answered.js";
import type { SenderGaps } from "./senderGaps.js";
import { type SetAside, setAsidePauseMs } from "./setAside.js";
import { findShown, settleTaken } from "./settleTaken.js";

/** Some wrappers were neither taken nor refused. The same bytes are to be sent again. */
export class NotBroadcastError extends Error {
  override readonly name = "NotBroadcastError";
}

/** The memory of a lane from one exchange with the node to the next. */
export interface BroadcastMemory {
  readonly senderGaps: SenderGaps;
  readonly setAside: SetAside;
  readonly retryPace: Pick<RetryPace, "onSetAside">;
  /** The verdicts of the exchange directly before, if this one continues it. */
  readonly earlier: readonly SendVerdictKind[];
}

/** Pauses in ms before a submission whose wrapper the node does not take yet gets another nonce. */
const REQUEUE_MS: Partial<Record<SendVerdictKind, number>> = {
  "nonce gap": 50,
  "inner too early": 250,
  "inner too late": 250,
  "waiver unusable": 1_000,
};
const NONCE_OCCUPIED_MS = 250;
/** Verdicts after which the chain or the node must be asked about the wrapper before anything is decided. */
const UNCLEAR: ReadonlySet<SendVerdictKind> = new Set(["already known", "nonce too low", "disputed"]);

/**
 * Moves every submission by what the node's answer to its wrapper means, as `law.ts` decides.
 * @throws {@link NotBroadcastError} if a signed wrapper may not be with the node afterwards.
 */
export async function applyAnswers(
  held: HeldLane,
  answered: readonly AnsweredBroadcast[],
  memory: BroadcastMemory,
  breaker: AnswerBreaker,
  context: WatchContext,
): Promise<void> {
  for (const one of answered) context.metrics.sent(kindOf(one));
  const first = await settleTaken(held, answered, new Set(), memory, context);
  const unclear = answered.filter(isUnclear).map(submissionOf);
  await reconcile(held, unclear, context);
  const shown = await findShown(unclear, context);
  // Another's unclear answer holds up nothing that the node has accepted.
  const { undecided } = shown.size > 0 ? await settleTaken(held, first.left, shown, memory, context) : first;
  const misplaced = await requeueOccupied(
    held,
    answered.filter((one) => kindOf(one) === "occupied").map(submissionOf),
    context,
  );
  const notAccepted = answered.filter((one) => {
    const { id } = one.submission;
    return kindOf(one) !== "accepted" && !shown.has(id) && !misplaced.has(id);
  });
  const resend = await applyDecisions(held, notAccepted, answered, memory, context);
  const remaining = answered.filter(({ submission: { id } }) => undecided.has(id) || resend.has(id));
  await moveBreaker(answered, remaining, breaker, context);
  const [one] = remaining;
  if (one) throw new NotBroadcastError(`${remaining.length} wrapper(s) were not broadcast: ${whyOf(one)}`);
}

/** A refusal of bytes that may have been sent before may come after they were taken. */
function isUnclear(one: AnsweredBroadcast): boolean {
  return UNCLEAR.has(kindOf(one)) || (kindOf(one) === "refused" && one.answer.delivery !== "only");
}

/** Applies the law to each answer that is not an acceptance. @returns the ids of those whose bytes must go out again. */
async function applyDecisions(
  held: HeldLane,
  notAccepted: readonly AnsweredBroadcast[],
  answered: readonly AnsweredBroadcast[],
  { setAside, retryPace, earlier }: BroadcastMemory,
  context: WatchContext,
): Promise<ReadonlySet<string>> {
  const { store, log } = context;
  const verdicts = [...earlier, ...answered.map(kindOf)];
  if (answered.some((one) => kindOf(one) === "accepted"))
    await wakeQueued(store, held, setAside.onAccepted());
  if (notAccepted.length === 0) return new Set();
  const open = await openWrappersOf(notAccepted, store);
  const failed: FailedSubmission[] = [];
  const requeued = new Map<string, RequeueGroup>();
  const resend = new Set<string>();
  const paused: string[] = [];
  for (const { submission, answer } of notAccepted) {
    const { id, state, signings } = submission;
    const { kind } = answer.verdict;
    const decision = decide({ state, openWrappers: open.get(id) ?? 0, answer });
    if (decision.move === "fail") failed.push({ id, ...decision.failure, condition: submission.wrapperHash });
    else if (decision.move === "resend") resend.add(id);
    else if (decision.move === "requeue") {
      const { isOpen } = decision;
      const isSetAside = decision.clause === "L8" || kind === "refused";
      const afterMs = isSetAside ? setAsidePauseMs(signings) : (REQUEUE_MS[kind] ?? 0);
      if (isSetAside) log.warn({ id, nodeMessage: messageOf(answer), afterMs }, "a submission is set aside");
      const group = requeued.get(`${afterMs} ${isOpen}`) ?? { afterMs, isOpen, submissions: [] };
      requeued.set(`${afterMs} ${isOpen}`, group);
      group.submissions.push(submission);
      if (decision.clause !== "L8") continue;
      retryPace.onSetAside(id);
      paused.push(id);
    }
  }
  await failSubmissions(held, failed, context);
  for (const { submissions, ...pause } of requeued.values()) await requeue(held, submissions, pause, context);
  setAside.note(paused, verdicts);
  return resend;
}

interface RequeueGroup extends Pick<RequeueOptions, "afterMs" | "isOpen"> {
  readonly submissions: InFlightSubmission[];
}

/** Requeues the submissions that still have the answered wrappers: a late answer is no evidence about another wrapper. */
async function requeue(
  held: HeldLane,
  submissions: readonly InFlightSubmission[],
  pause: Pick<RequeueOptions, "afterMs" | "isOpen">,
  { store, onNoncesFreed }: Pick<WatchContext, "store" | "onNoncesFreed">,
): Promise<void> {
  const ids = submissions.map(({ id }) => id);
  const wrapperHashes = submissions.map(({ wrapperHash }) => wrapperHash);
  const requeued = await saveRequeued(store, held, ids, { ...pause, wrapperHashes });
  if (requeued.length > 0) onNoncesFreed?.();
}

/** Counts the open wrappers where a decision needs them: only a first refusal requires that no other wrapper is open. */
async function openWrappersOf(
  notAccepted: readonly AnsweredBroadcast[],
  store: Store,
): Promise<ReadonlyMap<string, number>> {
  const ids = notAccepted
    .filter((one) => kindOf(one) === "refused" && one.submission.signings > 1)
    .map(({ submission }) => submission.id);
  return countOpenWrappers(store, ids);
}

/**
 * Queues again submissions whose nonce is occupied in the pool, where both wrappers could wait for ever: the pool's wrapper
 * waits for nonces below, and the lane signs nothing below while this submission is not broadcast. The pool's wrapper is a
 * withdrawn one of the lane, or stands above a free nonce, such as a wrapper that the store has lost in a failover. Other
 * submissions stay: the chain will show whose wrapper holds the nonce.
 */
async function requeueOccupied(
  held: HeldLane,
  occupied: readonly InFlightSubmission[],
  { store, chain, onNoncesFreed }: WatchContext,
): Promise<ReadonlySet<string>> {
  if (occupied.length === 0) return new Set();
  const nonces = occupied.map(({ waiverNonce }) => waiverNonce);
  const withdrawn = await findWithdrawnWrappers(store, held, nonces);
  const presences = await chain.lookUp(withdrawn.map(({ wrapperHash }) => wrapperHash));
  const inPool = new Map(
    withdrawn
      .filter((_, i) => presences[i]?.is === "shown")
      .map(({ waiverNonce, wrapperHash }) => [waiverNonce, wrapperHash]),
  );
  const isByWithdrawn = ({ waiverNonce, wrapperHash }: InFlightSubmission) => {
    const other = inPool.get(waiverNonce);
    return other !== undefined && !bytesEqual(other, wrapperHash);
  };
  const [chainNonce = 0n] = await chain.nonces([held.waiver]);
  const free = await findLowestFreeNonce(store, held, chainNonce);
  const blocked = occupied.filter((one) => isByWithdrawn(one) || one.waiverNonce > free);
  const options = { afterMs: NONCE_OCCUPIED_MS, store, onNoncesFreed };
  await requeueMisplaced(held, blocked, "nonce occupied", options);
  return new Set(blocked.map(({ id }) => id));
}

/** @param remaining those whose bytes must go out again. */
async function moveBreaker(
  answered: readonly AnsweredBroadcast[],
  remaining: readonly AnsweredBroadcast[],
  breaker: AnswerBreaker,
  { headOfLine }: Pick<WatchContext, "headOfLine">,
): Promise<void> {
  const find = (kind: SendVerdictKind) => answered.find((one) => kindOf(one) === kind);
  const unusable = find("waiver unusable");
  if (unusable)
    return await breaker.fail(
      "decisive",
      `the node takes no wrapper of this waiver: ${messageOf(unusable.answer)}`,
    );
  // Bytes that go out again behind a jam show nothing of it.
  if (find("accepted")) return headOfLine.jam ? undefined : await breaker.succeed();
  // Nodes that do not answer may be down for every lane. Only failures of this lane alone count against its key.
  const [silent] = answered.some(({ answer }) => answer.isAnswered) ? [] : answered;
  if (silent) return await breaker.noAnswer(whyOf(silent));
  const refused = remaining.find((one) => kindOf(one) === "occupied");
  if (refused)
    await breaker.fail("counted", `the node does not take this waiver's wrappers: ${whyOf(refused)}`);
}

function whyOf(one: AnsweredBroadcast): string {
  return `${kindOf(one)}: ${messageOf(one.answer)}`;
}

function messageOf({ verdict }: SendAnswer): string {
  return "message" in verdict ? verdict.message : "";
}
