import { bytesToHex, type SendVerdictKind } from "@gas-waiver/protocol";
import type { Presence, SendAnswer } from "../../chain/evidence.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { countOpenWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import type { InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import type { FailedSubmission } from "../../store/transitions/saveFailed.js";
import { wakeQueued } from "../../store/transitions/wakeQueued.js";
import type { AnswerBreaker } from "../choose/laneBreaker.js";
import type { WatchContext } from "../context.js";
import { setAsidePauseMs } from "../inbox/retries.js";
import { type Decision, decide, NOT_TAKEN } from "../law/law.js";
import { failSubmissions, reconcile } from "../law/reconcile.js";
import { NEXT_TRY_MS, releaseToOthers, requeue, requeueMisplaced } from "../law/requeue.js";
import { findLowestFreeNonce } from "../sign/placement.js";

/** Some wrappers were neither taken nor refused. The same bytes are to be sent again. */
export class NotBroadcastError extends Error {
  override readonly name = "NotBroadcastError";
}

/** A wrapper that was sent, and what the node's answer means. */
export interface Answered {
  readonly submission: InFlightSubmission;
  readonly answer: SendAnswer;
}

export interface ExchangeContext extends WatchContext {
  readonly breaker: AnswerBreaker;
}

/** Verdicts after which the chain or the node must be asked about the wrapper before anything is decided. */
const UNCLEAR: ReadonlySet<SendVerdictKind> = new Set(["already known", "nonce too low", "disputed"]);
/** Answers of a node that holds another wrapper under the nonce. A strict pool calls the nonce too low. */
export const HELD: ReadonlySet<SendVerdictKind> = new Set(["occupied", "nonce too low"]);
/** Verdicts that show no node at work. All others do, whatever they say of the wrapper. */
const NO_WORK: ReadonlySet<SendVerdictKind> = new Set(["ambiguous", "disputed", "not now"]);

export const kindOf = ({ answer }: Answered): SendVerdictKind => answer.verdict.kind;
const submissionOf = ({ submission }: Answered) => submission;
const idOf = ({ submission }: Answered) => submission.id;
/** Whether the node surely does not have the wrapper. */
const isLacking = (one: Answered) => kindOf(one) === "refused" || NOT_TAKEN.has(kindOf(one));
const senderOf = ({ submission }: Answered) => bytesToHex(submission.sender);

/**
 * Moves every submission by what the node's answer to its wrapper means, as `law.ts` decides.
 * @throws {@link NotBroadcastError} if a signed wrapper may not be with the node afterwards.
 */
export async function applyAnswers(
  held: HeldLane,
  answered: readonly Answered[],
  context: ExchangeContext,
): Promise<void> {
  const { store, metrics, retries } = context;
  for (const one of answered) metrics.sent(kindOf(one));
  const isAccepted = ({ submission: { state }, answer }: Answered) =>
    decide({ state, openWrappers: 0, answer }).move === "broadcast";
  const notAccepted = answered.filter((one) => !isAccepted(one));
  // Another's unclear answer holds up nothing that the node has accepted, unless both are of one sender.
  const late = new Set(notAccepted.map(senderOf));
  await settleTaken(
    held,
    answered.filter((one) => isAccepted(one) && !late.has(senderOf(one))),
    context,
  );
  const presences = await lookUp(held, notAccepted.filter(isUnclear).map(submissionOf), context);
  const isShown = ({ submission: { id, state } }: Answered) => {
    const presence = presences.get(id);
    return presence !== undefined && decide({ state, openWrappers: 0, presence }).move === "broadcast";
  };
  const isTaken = (one: Answered) => isAccepted(one) || isShown(one);
  const isNodeAtWork = answered.some((one) => !NO_WORK.has(kindOf(one)));
  const notTaken = notAccepted.filter((one) => !isTaken(one));
  const resend = await moveNotTaken(held, notTaken, { isNodeAtWork, presences }, context);
  for (const id of behindUndecided(answered, isTaken)) resend.add(id);
  const settled = answered.filter((one) => isTaken(one) && late.has(senderOf(one)) && !resend.has(idOf(one)));
  await settleTaken(held, settled, context);
  const accepted = answered.filter(isAccepted).map(idOf);
  if (accepted.length > 0) await wakeQueued(store, held, retries.onTaken(accepted));
  const remaining = answered.filter((one) => resend.has(idOf(one)));
  await moveBreaker(held, { answered, remaining, isTaken }, context);
  const [one] = remaining;
  if (one) throw new NotBroadcastError(`${remaining.length} wrapper(s) were not broadcast: ${whyOf(one)}`);
}

/** A refusal of bytes that may have been sent before may come after they were taken. */
function isUnclear(one: Answered): boolean {
  return UNCLEAR.has(kindOf(one)) || (kindOf(one) === "refused" && one.answer.delivery !== "only");
}

/**
 * Counts the wrappers that a node has as broadcast (L5), but for those behind a nonce of their sender that no node has: these
 * are queued again (L10).
 */
async function settleTaken(
  held: HeldLane,
  taken: readonly Answered[],
  context: ExchangeContext,
): Promise<void> {
  const submissions = taken.map(submissionOf);
  const blocked = await context.senderGaps.findBlocked(submissions);
  context.broadcastBuffer.add(
    held,
    submissions.filter(({ id }) => !blocked.has(id)),
  );
  const cannotRun = submissions.filter(({ id }) => blocked.has(id));
  await requeueMisplaced(held, cannotRun, "sender gap", context);
}

type Presences = ReadonlyMap<string, Presence | undefined>;

/**
 * Reconciles submissions with the chain, and looks their wrappers up (L5). A strict pool that holds a wrapper expects the next
 * nonce, and may call the nonce of the same bytes too low.
 * @returns by the ids of the submissions.
 */
async function lookUp(
  held: HeldLane,
  submissions: readonly InFlightSubmission[],
  context: WatchContext,
): Promise<Presences> {
  if (submissions.length === 0) return new Map();
  await reconcile(held, submissions, context);
  const presences = await context.chain.lookUp(submissions.map(({ wrapperHash }) => wrapperHash));
  return new Map(submissions.map(({ id }, i) => [id, presences[i]]));
}

/** Applies the law to the answers of nodes that have not taken the wrappers. @returns the ids of those to be sent again. */
async function moveNotTaken(
  held: HeldLane,
  notTaken: readonly Answered[],
  { isNodeAtWork, presences }: { readonly isNodeAtWork: boolean; readonly presences: Presences },
  context: ExchangeContext,
): Promise<Set<string>> {
  const { senderGaps, retries } = context;
  const occupied = notTaken.filter((one) => kindOf(one) === "occupied").map(submissionOf);
  const misplaced = await requeueOccupied(held, occupied, context);
  const left = notTaken.filter(({ submission }) => !misplaced.includes(submission));
  // Only a first refusal requires that no other wrapper is open.
  const refused = left.filter((one) => kindOf(one) === "refused" && one.submission.signings > 1);
  const open = await countOpenWrappers(context.store, refused.map(idOf));
  const decided = left.map((one) => {
    const { id, state } = one.submission;
    const evidence = { state, openWrappers: open.get(id) ?? 0, answer: one.answer };
    return { ...one, decision: decide({ ...evidence, isForgotten: isForgotten(one, presences, context) }) };
  });
  const failed = decided.flatMap(({ submission: { id, wrapperHash }, decision }): FailedSubmission[] =>
    decision.move === "fail" ? [{ id, ...decision.failure, condition: wrapperHash }] : [],
  );
  await failSubmissions(held, failed, context);
  await requeueDecided(held, decided, context);
  const setAside = decided.filter(({ decision: { move, clause } }) => move === "requeue" && clause === "L8");
  retries.onSetAside(setAside.map(idOf), isNodeAtWork);
  // A pool that refused a sender's transaction may take the sender's next.
  for (const one of decided) if (isLacking(one)) senderGaps.note(one.submission);
  return new Set(decided.filter(({ decision }) => decision.move === "resend").map(idOf));
}

/** A node knows the wrapper, and has not shown it for some seconds: caches remember what pools have dropped. */
function isForgotten(
  one: Answered,
  presences: Presences,
  { entries }: Pick<WatchContext, "entries">,
): boolean {
  if (kindOf(one) !== "already known" || presences.get(idOf(one))?.is !== "absent") return false;
  return entries.isLasting(one.submission, "absent");
}

/**
 * Queues again submissions whose nonce is occupied in the pool above a free nonce, where both wrappers could wait for ever: the
 * pool's wrapper waits for nonces below, and the lane signs nothing below while this submission is not broadcast. Other
 * submissions stay: the chain will show whose wrapper holds the nonce.
 * @returns those that were queued.
 */
async function requeueOccupied(
  held: HeldLane,
  occupied: readonly InFlightSubmission[],
  context: Pick<WatchContext, "store" | "chain" | "onNoncesFreed">,
): Promise<readonly InFlightSubmission[]> {
  if (occupied.length === 0) return [];
  const [chainNonce = 0n] = await context.chain.nonces([held.waiver]);
  const free = await findLowestFreeNonce(context.store, held, chainNonce);
  const blocked = occupied.filter(({ waiverNonce }) => waiverNonce > free);
  await requeueMisplaced(held, blocked, "nonce occupied", context);
  return blocked;
}

interface Decided extends Answered {
  readonly decision: Decision;
}

/** Queues again those for which the law decided so, in one write for each pause. */
async function requeueDecided(
  held: HeldLane,
  decided: readonly Decided[],
  context: WatchContext,
): Promise<void> {
  const groups = new Map<string, { afterMs: number; isOpen: boolean; submissions: InFlightSubmission[] }>();
  const nodeSaid = new Map(decided.map((one) => [one.submission.id, whyOf(one)]));
  for (const { submission, answer, decision } of decided) {
    if (decision.move !== "requeue") continue;
    const { kind } = answer.verdict;
    const isSetAside = decision.clause === "L8" || kind === "refused";
    const afterMs = isSetAside ? setAsidePauseMs(submission.signings) : NEXT_TRY_MS;
    if (isSetAside)
      context.log.warn(
        { id: submission.id, nodeMessage: messageOf(answer), afterMs },
        "a submission is set aside",
      );
    const name = `${afterMs} ${decision.isOpen}`;
    const group = groups.get(name) ?? { afterMs, isOpen: decision.isOpen, submissions: [] };
    group.submissions.push(submission);
    groups.set(name, group);
  }
  for (const { submissions, ...pause } of groups.values())
    await requeue(held, submissions, { ...pause, nodeSaid }, context);
}

/** @returns the ids of those behind a nonce of their sender of which nobody knows whether a node has it. */
function behindUndecided(answered: readonly Answered[], isTaken: (one: Answered) => boolean): string[] {
  const undecided = new Set<string>();
  const behind: string[] = [];
  for (const one of answered) {
    if (isTaken(one)) {
      if (one.submission.state === "signed" && undecided.has(senderOf(one))) behind.push(idOf(one));
    } else if (!isLacking(one)) undecided.add(senderOf(one));
  }
  return behind;
}

interface Exchanged {
  readonly answered: readonly Answered[];
  /** Those whose bytes must go out again. */
  readonly remaining: readonly Answered[];
  readonly isTaken: (one: Answered) => boolean;
}

async function moveBreaker(
  held: HeldLane,
  { answered, remaining, isTaken }: Exchanged,
  context: ExchangeContext,
): Promise<void> {
  const { breaker, headOfLine, entries, routing } = context;
  const find = (kind: SendVerdictKind) => answered.find((one) => kindOf(one) === kind);
  // Everybody sees what the policies say. The lane goes on once they permit something, whatever its old bytes met meanwhile.
  const unusable = routing.whyUnusable(held.waiver) === undefined ? find("waiver unusable") : undefined;
  if (unusable)
    return await breaker.open(`the node takes no wrapper of this waiver: ${messageOf(unusable.answer)}`);
  // Bytes that go out again behind a jam show nothing of it.
  if (answered.some(isTaken)) return headOfLine.isJammed ? undefined : await breaker.succeed();
  const [silent] = answered.some(({ answer }) => answer.isAnswered) ? [] : answered;
  if (silent) return await breaker.avoid(`no node answers: ${whyOf(silent)}`);
  const refused = remaining.find((one) => HELD.has(kindOf(one)));
  if (refused === undefined) return;
  const why = `the node does not take this waiver's wrappers: ${whyOf(refused)}`;
  const isLong = entries.isLasting(refused.submission, "held");
  if (!isLong || !routing.hasOtherLane(held.waiver))
    return kindOf(refused) === "occupied" ? await breaker.avoid(why) : undefined;
  // Something in the pools has the nonce, and blocks leave it out.
  await breaker.open(why);
  await releaseToOthers(held, context);
}

function whyOf(one: Answered): string {
  return `${kindOf(one)}: ${messageOf(one.answer)}`;
}

function messageOf({ verdict }: SendAnswer): string {
  return "message" in verdict ? verdict.message : "";
}
