import {
  bytesToHex,
  decodeRevert,
  type Hex,
  hexToBytes,
  revertDataIn,
  type Simulation,
  type ValidInnerTx,
} from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/nodeClient.js";
import { RpcError, type RpcOutcome } from "../chain/rpc.js";
import { chunk } from "../util/chunk.js";

/** Calls in one request to the node: each may take as long as its gas lets it. */
const CALLS_AT_ONCE = 20;
/** What a contract reverts with is told in full up to this many bytes, and left out above. */
const MAX_DATA_BYTES = 4_096;

/**
 * Runs each call alone on the state of the latest block, from its sender, with its gas limit and a price of 0.
 * @throws RpcUnavailableError if no node answers.
 */
export async function simulate(
  chain: Pick<NodeClient, "call">,
  transactions: readonly ValidInnerTx[],
): Promise<Simulation[]> {
  const simulations: Simulation[] = [];
  for (const part of chunk(transactions, CALLS_AT_ONCE)) {
    const outcomes = await chain.call(part.map(requestOf));
    for (const outcome of outcomes) simulations.push(simulationOf(outcome));
  }
  return simulations;
}

function requestOf({ tx, sender, to }: ValidInnerTx): Readonly<Record<string, unknown>> {
  return {
    from: bytesToHex(sender),
    to: bytesToHex(to),
    value: quantity(tx.value),
    data: bytesToHex(tx.data),
    gas: quantity(tx.gasLimit),
    gasPrice: "0x0",
    ...(tx.type !== "legacy" && {
      accessList: tx.accessList.map(({ address, storageKeys }) => ({
        address: bytesToHex(address),
        storageKeys: storageKeys.map(bytesToHex),
      })),
    }),
  };
}

/** @throws the error of an outcome that is no answer of a node. */
function simulationOf(outcome: RpcOutcome): Simulation {
  if (!("error" in outcome)) return { success: true };
  const { error } = outcome;
  if (!(error instanceof RpcError)) throw error;
  const data = revertDataIn(error.data);
  // Nodes tell a revert without data by its wording alone.
  if (data === undefined && !/revert/i.test(error.message)) {
    return { success: false, kind: "halted", message: error.message };
  }
  const bytes = data === undefined ? new Uint8Array(0) : hexToBytes(data);
  const shown = data !== undefined && bytes.length > 0 && bytes.length <= MAX_DATA_BYTES;
  return { success: false, ...decodeRevert(bytes), ...(shown && { data }) };
}

function quantity(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}
