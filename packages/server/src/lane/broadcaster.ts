import { classifySendOutcome } from "../chain/classifySendOutcome.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../store/lanes/inFlight.js";
import { type AnsweredBroadcast, applyAnswers } from "./applyAnswers.js";
import type { WatchContext } from "./context.js";
import { createExchange } from "./exchange.js";
import type { AnswerBreaker } from "./laneBreaker.js";
import { createSenderGaps } from "./senderGaps.js";
import { createSetAsideProbe } from "./setAside.js";

export interface SendOptions {
  /**
   * These bytes have just been signed under the present lease, and nobody has sent them before. Only then is the answer
   * the first that any node gives about them (D28).
   */
  readonly isFirst: boolean;
  /** Earlier wrappers have no clear answer, and these are to show whether the node is well. */
  readonly isProbe?: boolean;
}

/** Sends stored wrappers, and stores what the node's answers mean. */
export interface Broadcaster {
  /**
   * Sends the wrappers in the order given, up to a hundred in one request, and moves their submissions by the answers.
   * @throws {@link NotBroadcastError} if a wrapper may not be with a node afterwards: then nothing new may be signed.
   */
  send(held: HeldLane, submissions: readonly InFlightSubmission[], options: SendOptions): Promise<void>;
  /**
   * Sends everything that is signed once more, after a start, a takeover or a failure.
   * @throws {@link NotBroadcastError} like `send`.
   */
  resendSigned(held: HeldLane): Promise<void>;
}

export function createBroadcaster(context: WatchContext, breaker: AnswerBreaker): Broadcaster {
  const { store, chain, options } = context;
  const memory = { senderGaps: createSenderGaps(chain), probe: createSetAsideProbe() };
  const exchange = createExchange(chain);
  const send: Broadcaster["send"] = async (held, submissions, { isFirst, isProbe = false }) => {
    if (submissions.length === 0) return;
    const outcomes = await exchange(submissions.map(({ wrapperRaw }) => wrapperRaw));
    const answered = submissions.flatMap((submission, i): AnsweredBroadcast[] => {
      const outcome = outcomes[i];
      return outcome ? [{ submission, verdict: classifySendOutcome(outcome), isFirst }] : [];
    });
    if (isProbe) memory.probe.onProbed(answered.map(({ verdict }) => verdict.kind));
    await applyAnswers(held, answered, memory, breaker, context);
  };
  return {
    send,
    async resendSigned(held) {
      const all = await findInFlight(store, held, { limit: options.maxInFlight });
      await memory.senderGaps.rebuild(all);
      const signed = all.filter(({ state }) => state === "signed");
      await send(held, signed, { isFirst: false });
    },
  };
}
