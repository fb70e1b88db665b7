import {
  bytesToHex,
  decodeRevert,
  hexToBytes,
  revertDataIn,
  type Simulation,
  type ValidInnerTx,
} from "@gas-waiver/protocol";
import { toQuantity } from "../chain/calls.js";
import type { NodeClient } from "../chain/nodeClient.js";
import { RpcError, type RpcOutcome } from "../chain/rpc.js";
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

function callRequest({ tx, sender, to }: ValidInnerTx): Readonly<Record<string, unknown>> {
  return {
    from: bytesToHex(sender),
    to: bytesToHex(to),
    value: toQuantity(tx.value),
    data: bytesToHex(tx.data),
    gas: toQuantity(tx.gasLimit),
    gasPrice: "0x0",
    ...(tx.type !== "legacy" && {
      accessList: tx.accessList.map(({ address, storageKeys }) => ({
        address: bytesToHex(address),
        storageKeys: storageKeys.map(bytesToHex),
      })),
    }),
  };
}

/** @throws the error of an outcome without an answer of a node, such as a time-out. */
function simulationOf(outcome: RpcOutcome): Simulation {
  if (!("error" in outcome)) return { success: true };
  const { error } = outcome;
  if (!(error instanceof RpcError)) throw error;
  const data = revertDataIn(error.data);
  // A node tells a revert without data from other failures by the message alone.
  if (data === undefined && !/revert/i.test(error.message)) {
    return { success: false, kind: "halted", message: error.message };
  }
  const revertData = data === undefined ? new Uint8Array(0) : hexToBytes(data);
  const isShown = data !== undefined && revertData.length > 0 && revertData.length <= MAX_REVERT_DATA_BYTES;
  return { success: false, ...decodeRevert(revertData), ...(isShown && { data }) };
}
