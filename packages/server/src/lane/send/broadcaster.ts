import { bytesToHex, type SendVerdictKind } from "@gas-waiver/protocol";
import { patienceClock } from "../../model/patience.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import type { LaneBreaker } from "../choose/laneBreaker.js";
import type { LaneContext } from "../context.js";
import type { Retries } from "../inbox/retries.js";
import { PATIENCE_MS } from "../law/entries.js";
import { releaseToOthers, requeueMisplaced } from "../law/requeue.js";
import { assign } from "../sign/assign.js";
import { type Answered, applyAnswers, type ExchangeContext, HELD, kindOf } from "./applyAnswers.js";

export type Broadcaster = ReturnType<typeof createBroadcaster>;

/** Sends stored wrappers, and stores what the node's answers mean. */
export function createBroadcaster(context: ExchangeContext) {
  const { store, chain, options, retries, senderGaps } = context;
  const firstNode = createFirstNode(patienceClock(context.patience));
  /** @returns the number of those that a node has taken. */
  const exchange = async (held: HeldLane, submissions: readonly InFlightSubmission[]): Promise<number> => {
    if (submissions.length === 0) return 0;
    const answered = await sendAndAskAgain((some) => chain.send(some, firstNode.place), submissions, retries);
    firstNode.note(answered);
    await applyAnswers(held, answered, context);
    return answered.filter((one) => kindOf(one) === "accepted").length;
  };
  /**
   * Sends the wrappers in the order given, up to a hundred in one request, and moves their submissions by the answers.
   * Retries at their end go in an exchange of their own, so that no other wrapper waits for the answers to retries.
   * @throws NotBroadcastError if a wrapper may not be with a node afterwards: then nothing new may be signed.
   */
  const send = async (held: HeldLane, submissions: readonly InFlightSubmission[]) => {
    const first = firstOfRetries(submissions, retries);
    await exchange(held, submissions.slice(0, first));
    const retried = submissions.slice(first);
    if (retried.length > 0) await retries.inExchange(retried.length, () => exchange(held, retried));
  };
  return {
    send,
    /** Sends wrappers again that were sent before, to the nodes that `send` does not ask. Never rejects. */
    sendToOthers: (submissions: readonly InFlightSubmission[]) =>
      chain.sendToOthers(submissions, firstNode.place),
    /**
     * Sends everything that is signed once more, after a start, a takeover or a failure.
     * @param upTo the highest waiver nonce to send; all if undefined.
     * @throws NotBroadcastError like `send`.
     */
    async resendSigned(held: HeldLane, upTo?: bigint) {
      // Wrappers that a node has surely taken need not be sent again.
      await context.broadcastBuffer.flush();
      const all = await findInFlight(store, held, { limit: options.maxInFlight });
      await senderGaps.rebuild(all);
      const isMeant = ({ waiverNonce }: InFlightSubmission) => upTo === undefined || waiverNonce <= upTo;
      const signed = all.filter((one) => one.state === "signed" && isMeant(one));
      await send(held, signed);
    },
    /**
     * Sends a wrapper to each node, under a nonce that another wrapper may hold.
     * @returns whether a node may have it. False if all that answer hold the other one.
     */
    sendFiller: (held: HeldLane, filler: InFlightSubmission) => sendFiller(held, filler, context),
  };
}

async function sendFiller(
  held: HeldLane,
  filler: InFlightSubmission,
  context: ExchangeContext,
): Promise<boolean> {
  const { chain } = context;
  const answers = await chain.sendToEach(filler);
  const clear = answers.filter(({ verdict }) => !SILENT.has(verdict.kind));
  const isOther = ({ verdict }: Answered["answer"]) => !HELD.has(verdict.kind);
  const [waiverNonce = 0n] = await chain.nonces([held.waiver]);
  const isHeld = clear.length > 0 && !clear.some(isOther);
  if (isHeld && waiverNonce <= filler.waiverNonce) return false;
  const taken = answers.find(({ verdict }) => verdict.kind === "accepted");
  const answer = taken ?? clear.find(isOther) ?? answers[0];
  if (answer) await applyAnswers(held, [{ submission: filler, answer }], context);
  return true;
}

/** A node that has given way to the next one is asked first again after this time, in ms. */
const FIRST_AGAIN_MS = 600_000;

/** Answers of a node that takes wrappers, or judges their InnerTxs. */
const WELL: ReadonlySet<SendVerdictKind> = new Set([
  "accepted",
  "refused",
  "inner too early",
  "inner too late",
]);

/**
 * The node that gets the lane's wrappers first: one that answers and takes none for some seconds gives way to the next. A node may
 * say that it knows a wrapper, that the nonce is used or comes too early, or that another wrapper has it: its pool may be at fault.
 * @param now a monotonic clock in ms.
 */
function createFirstNode(now: () => number) {
  let place = 0;
  let passedAt = 0;
  let notTakenSince: number | undefined;
  return {
    get place() {
      return place;
    },
    /** Takes note of the answers of an exchange. Those to wrappers that a node has say nothing: the chain may stand still. */
    note(answered: readonly Answered[]): void {
      const answers = answered.flatMap(({ submission, answer }) =>
        submission.state === "signed" ? [answer] : [],
      );
      if (place > 0 && now() - passedAt >= FIRST_AGAIN_MS) place = 0;
      if (answers.length === 0) return;
      const isWell = answers.some(({ verdict }) => WELL.has(verdict.kind));
      if (isWell || !answers.some(({ isAnswered }) => isAnswered)) notTakenSince = undefined;
      else notTakenSince ??= now();
      if (notTakenSince === undefined || now() - notTakenSince < PATIENCE_MS) return;
      place++;
      passedAt = now();
      notTakenSince = undefined;
    },
  };
}

/**
 * Sends wrappers, and those once more to which a node answers with an unknown error. Such a wrapper is set aside and gives its nonce
 * away, although pools may have taken it: a moment's trouble must not do that.
 */
async function sendAndAskAgain(
  send: (some: readonly InFlightSubmission[]) => Promise<readonly Answered["answer"][]>,
  submissions: readonly InFlightSubmission[],
  { isRetry }: Retries,
): Promise<Answered[]> {
  const answers = await send(submissions);
  const doubted = submissions.filter(
    ({ id, state }, i) => answers[i]?.verdict.kind === "disputed" && state === "signed" && !isRetry(id),
  );
  const again = doubted.length === 0 ? [] : await send(doubted);
  return submissions.flatMap((submission, i) => {
    const answer = again[doubted.indexOf(submission)] ?? answers[i];
    return answer ? [{ submission, answer }] : [];
  });
}

/** Answers of nodes that say nothing of the wrapper. */
const SILENT: ReadonlySet<SendVerdictKind> = new Set(["ambiguous", "not now"]);

/**
 * The place from which on all senders have retries. It is the end if such a sender also has a wrapper before it, since a
 * sender's nonces are judged in one exchange.
 */
function firstOfRetries(submissions: readonly InFlightSubmission[], { isRetry }: Retries): number {
  const retried = submissions.filter(({ id }) => isRetry(id));
  const senders = new Set(retried.map(({ sender }) => bytesToHex(sender)));
  const isOfThese = ({ sender }: InFlightSubmission) => senders.has(bytesToHex(sender));
  const first = submissions.findLastIndex((submission) => !isOfThese(submission)) + 1;
  return submissions.slice(0, first).some(isOfThese) ? submissions.length : first;
}

export interface FillContext extends LaneContext {
  readonly breaker: LaneBreaker;
  readonly broadcaster: Broadcaster;
}

/** After this time, what blocks have left out is tried again where the lane has nothing else, in ms. */
const ALONE_MS = 30_000;
/** The most submissions to read: one of the first may wait for its sender, or be what blocks have left out. */
const MAX_READ = 16;

/**
 * Gives the nonce of a withdrawn head to another submission, the filler. Where no node takes the filler, the lane is jammed: its
 * breaker opens, and other lanes get what these may carry. Each time that the breaker probes the lane, another filler goes out.
 */
export async function fillHead(held: HeldLane, context: FillContext): Promise<void> {
  const { headOfLine: head, breaker, broadcaster } = context;
  const { still } = head;
  if (still === undefined || !head.isFree) return;
  const mayBeLeftOut = !head.isJammed && still.ms > ALONE_MS;
  const options = { limit: MAX_READ, due: MAX_READ, onlyUnder: still.nonce, mayBeLeftOut };
  const { signed } = await assign(held, options, context);
  const [filler] = signed;
  if (filler === undefined) return;
  if (await broadcaster.sendFiller(held, filler)) {
    head.onFilled(filler.wrapperHash);
    await breaker.succeed();
    return;
  }
  head.onHeld();
  await requeueMisplaced(held, [filler], "nonce occupied", context);
  await breaker.open(head.wait?.sentence ?? "");
  await releaseToOthers(held, context);
}
