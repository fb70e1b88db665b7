import type { SendVerdict } from "@gas-waiver/protocol";
import { classifySendOutcome } from "../chain/classifySendOutcome.js";
import type { NodeClient } from "../chain/nodeClient.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../store/lanes/inFlight.js";
import { type AnsweredBroadcast, applyAnswers } from "./applyAnswers.js";
import type { LaneContext } from "./context.js";
import type { LaneBreaker } from "./laneBreaker.js";
import { createSenderGaps } from "./senderGaps.js";

/** Sends stored wrappers, and stores what the node's answers mean. */
export interface Broadcaster {
  /**
   * Sends the wrappers in the order given, a hundred in one request, and moves their submissions by the answers.
   * @throws {@link NotBroadcastError} if a wrapper may not be with a node afterwards: then nothing new may be signed.
   */
  send(held: HeldLane, submissions: readonly InFlightSubmission[]): Promise<void>;
  /**
   * Sends everything that is signed once more, after a start, a takeover or a failure.
   * @throws {@link NotBroadcastError} like `send`.
   */
  resendSigned(held: HeldLane): Promise<void>;
}

/** An unknown error that a node has answered this often counts as a refusal. */
const MAX_DISPUTES = 3;

export function createBroadcaster(
  context: LaneContext,
  breaker: Pick<LaneBreaker, "succeed" | "fail">,
): Broadcaster {
  const { store, chain, options } = context;
  const senderGaps = createSenderGaps(chain);
  const resolveDispute = createDisputes(chain);
  const send: Broadcaster["send"] = async (held, submissions) => {
    if (submissions.length === 0) return;
    const outcomes = await chain.sendRawTransactions(submissions.map((s) => s.wrapperRaw));
    const answered: AnsweredBroadcast[] = [];
    for (const [i, submission] of submissions.entries()) {
      const outcome = outcomes[i];
      if (outcome === undefined) continue;
      answered.push(await resolveDispute({ submission, verdict: classifySendOutcome(outcome) }));
    }
    await applyAnswers(held, answered, senderGaps, breaker, context);
  };
  return {
    send,
    async resendSigned(held) {
      const all = await findInFlight(store, held, { limit: options.maxInFlight });
      await senderGaps.rebuild(all);
      await send(
        held,
        all.filter(({ state }) => state === "signed"),
      );
    },
  };
}

/**
 * Decides errors that are in no table by asking the node whether it has the wrapper, and counts them: the third is a
 * refusal.
 */
function createDisputes(chain: Pick<NodeClient, "knowsTransactions">) {
  // By submission, the unknown errors that the node has answered in a row.
  const disputes = new Map<string, number>();
  return async (answered: AnsweredBroadcast): Promise<AnsweredBroadcast> => {
    const { submission, verdict } = answered;
    if (verdict.kind !== "disputed") return answered;
    const times = (disputes.get(submission.id) ?? 0) + 1;
    disputes.set(submission.id, times);
    const [known] = await chain.knowsTransactions([submission.wrapperHash]);
    if (!known && times < MAX_DISPUTES) return answered;
    disputes.delete(submission.id);
    const decided: SendVerdict = known
      ? { kind: "accepted" }
      : { kind: "refused", reason: "NODE_REFUSED", said: verdict.said };
    return { submission, verdict: decided };
  };
}
