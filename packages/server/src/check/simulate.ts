import { callFailureOf, type Simulation, type ValidInnerTx } from "@gas-waiver/protocol";
import { callRequest } from "../chain/client/callRequest.js";
import type { NodeClient } from "../chain/client/nodeClient.js";
import { NodeRpcError, type RpcOutcome } from "../chain/rpc/rpc.js";
import { chunk } from "../util/chunk.js";

/** Calls in one request to the node. Each may run for as long as its gas lasts. */
const MAX_CALLS_PER_REQUEST = 20;
/** Longer revert data is left out of the answer. */
const MAX_REVERT_DATA_BYTES = 4_096;

/**
 * Runs the call of each transaction by itself on the state of the latest block, with its gas limit and gas price 0.
 * @returns one simulation for each transaction, in their order.
 * @throws RpcUnavailableError if no node answers.
 */
export async function simulate(
  chain: Pick<NodeClient, "call">,
  transactions: readonly ValidInnerTx[],
): Promise<Simulation[]> {
  const simulations: Simulation[] = [];
  for (const batch of chunk(transactions, MAX_CALLS_PER_REQUEST)) {
    const outcomes = await chain.call(batch.map(callRequest));
    for (const outcome of outcomes) simulations.push(simulationOf(outcome));
  }
  return simulations;
}

/** @throws the error of an outcome without an answer of a node, such as a time-out. */
function simulationOf(outcome: RpcOutcome): Simulation {
  if (!("error" in outcome)) return { success: true };
  const { error } = outcome;
  if (!(error instanceof NodeRpcError)) throw error;
  const { kind, message, data } = callFailureOf(error) ?? { kind: "halted", message: error.message };
  if (kind === "halted" || kind === "out_of_gas")
    return { success: false, kind: "halted", message: error.message };
  const isShown = data !== undefined && data.length <= 2 + 2 * MAX_REVERT_DATA_BYTES;
  return { success: false, kind, message, ...(isShown && { data }) };
}
