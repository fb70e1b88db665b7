import { bytesToHex, type SendVerdictKind } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { AnswerBreaker } from "../choose/laneBreaker.js";
import type { WatchContext } from "../context.js";
import { createRetryPace, type Retries } from "../inbox/retryPace.js";
import { type AnsweredBroadcast, kindOf } from "./answered.js";
import { applyAnswers } from "./applyAnswers.js";
import { createSenderGaps } from "./senderGaps.js";
import { createSetAside } from "./setAside.js";

/** Sends stored wrappers, and stores what the node's answers mean. */
export interface Broadcaster {
  /** Tells the submissions that were set aside before, and how many of them the next `send` should have. */
  readonly retries: Retries;
  /**
   * Sends the wrappers in the order given, up to a hundred in one request, and moves their submissions by the answers.
   * Retries at their end go in an exchange of their own, so that no other wrapper waits for the answers to retries.
   * @throws {@link NotBroadcastError} if a wrapper may not be with a node afterwards: then nothing new may be signed.
   */
  send(held: HeldLane, submissions: readonly InFlightSubmission[]): Promise<void>;
  /**
   * Sends everything that is signed once more, after a start, a takeover or a failure.
   * @param upTo the highest waiver nonce to send; all if undefined.
   * @throws {@link NotBroadcastError} like `send`.
   */
  resendSigned(held: HeldLane, upTo?: bigint): Promise<void>;
  /**
   * Sends a wrapper to each node, under a nonce that another wrapper may hold.
   * @returns whether a node may have it. False if all that answer hold the other one.
   */
  sendFiller(held: HeldLane, filler: InFlightSubmission): Promise<boolean>;
}

export function createBroadcaster(context: WatchContext, breaker: AnswerBreaker): Broadcaster {
  const { store, chain, options } = context;
  const retryPace = createRetryPace();
  const memory = { senderGaps: createSenderGaps(chain), setAside: createSetAside(), retryPace };
  const sendPart = async (
    held: HeldLane,
    submissions: readonly InFlightSubmission[],
    earlier: readonly SendVerdictKind[] = [],
  ): Promise<AnsweredBroadcast[]> => {
    if (submissions.length === 0) return [];
    const answers = await chain.send(submissions);
    const answered = submissions.flatMap((submission, i): AnsweredBroadcast[] => {
      const answer = answers[i];
      return answer ? [{ submission, answer }] : [];
    });
    await applyAnswers(held, answered, { ...memory, earlier }, breaker, context);
    return answered;
  };
  const send: Broadcaster["send"] = async (held, submissions) => {
    const retriesFrom = firstOfRetries(submissions, retryPace);
    const retries = submissions.slice(retriesFrom);
    const others = await sendPart(held, submissions.slice(0, retriesFrom));
    if (retries.length === 0) return;
    const begunAt = performance.now();
    const answered = await sendPart(held, retries, others.map(kindOf));
    const accepted = answered.filter((one) => kindOf(one) === "accepted");
    retryPace.onExchange({
      ids: retries.map(({ id }) => id),
      accepted: accepted.map(({ submission }) => submission.id),
      ms: performance.now() - begunAt,
    });
  };
  return {
    retries: retryPace,
    send,
    async resendSigned(held, upTo) {
      const all = await findInFlight(store, held, { limit: options.maxInFlight });
      await memory.senderGaps.rebuild(all);
      const isMeant = ({ waiverNonce }: InFlightSubmission) => upTo === undefined || waiverNonce <= upTo;
      const signed = all.filter((one) => one.state === "signed" && isMeant(one));
      await send(held, signed);
    },
    async sendFiller(held, filler) {
      const answers = await chain.sendToEach(filler);
      const clear = answers.filter(({ verdict }) => !SILENT.has(verdict.kind));
      const [waiverNonce = 0n] = await chain.nonces([held.waiver]);
      const isHeld = clear.length > 0 && clear.every(({ verdict }) => HELD.has(verdict.kind));
      if (isHeld && waiverNonce <= filler.waiverNonce) return false;
      const taken = answers.find(({ verdict }) => verdict.kind === "accepted");
      const answer = taken ?? clear.find(({ verdict }) => !HELD.has(verdict.kind)) ?? answers[0];
      if (answer === undefined) return true;
      const answered = [{ submission: filler, answer }];
      await applyAnswers(held, answered, { ...memory, earlier: [] }, breaker, context);
      return true;
    },
  };
}

/** Answers of a node that holds another wrapper under the nonce. A strict pool calls the nonce too low. */
const HELD: ReadonlySet<SendVerdictKind> = new Set(["occupied", "nonce too low"]);
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
