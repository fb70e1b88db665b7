import type { NodeClient } from "../../chain/client/nodeClient.js";
import { isUnanswered, notSent, type RpcOutcome } from "../../chain/rpc/rpc.js";

/**
 * Sends wrappers in order, and returns the outcome of each. One of them may keep a whole request from an answer: a proxy
 * refuses the request because of it, or the node hangs on it. So after a request without any answer, each wrapper goes in a
 * request of its own, until one is answered. The client of the nodes halves requests for their size; only this looks for
 * a culprit.
 */
export type Exchange = (raws: readonly Uint8Array[]) => Promise<readonly RpcOutcome[]>;

/** After this many single wrappers in a row without an answer nothing more is sent, although the node answers reads. */
const MAX_UNANSWERED = 2;

export function createExchange(chain: Pick<NodeClient, "sendRawTransactions" | "blockNumber">): Exchange {
  let wasSilent = false;
  return async (raws) => {
    const outcomes = wasSilent ? await sendSingly(raws, chain) : await chain.sendRawTransactions(raws);
    wasSilent = outcomes.every(isUnanswered);
    return outcomes;
  };
}

/**
 * Sends each wrapper alone. If the node answers neither a wrapper nor the read beside it, no more are sent: an outage costs
 * one time-out.
 */
async function sendSingly(
  raws: readonly Uint8Array[],
  chain: Pick<NodeClient, "sendRawTransactions" | "blockNumber">,
): Promise<RpcOutcome[]> {
  const outcomes: RpcOutcome[] = [];
  let silent = 0;
  for (const raw of raws) {
    // Beside the send, so that both time-outs are one.
    const reading = chain.blockNumber().then(
      () => true,
      () => false,
    );
    const [outcome] = await chain.sendRawTransactions([raw]);
    if (outcome === undefined) break;
    outcomes.push(outcome);
    silent = isUnanswered(outcome) ? silent + 1 : 0;
    if (silent >= MAX_UNANSWERED || (silent > 0 && !(await reading))) break;
  }
  const lost = outcomes.at(-1);
  while (isUnanswered(lost) && outcomes.length < raws.length) outcomes.push(notSent(lost.error));
  return outcomes;
}
