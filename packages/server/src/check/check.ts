import {
  bytesToHex,
  type CheckLine,
  callFailureOf,
  ProtocolError,
  type Simulation,
  type ValidInnerTx,
} from "@gas-waiver/protocol";
import { callRequest } from "../chain/client/calls.js";
import type { NodeClient } from "../chain/client/nodeClient.js";
import { NodeRpcError, type RpcOutcome, RpcUnavailableError } from "../chain/rpc/rpc.js";
import { type Caller, ownerOf } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import { shuttingDown } from "../model/shuttingDown.js";
import { rulesFor } from "../policy/rules.js";
import type { PolicySource } from "../policy/source.js";
import { validateInTurns } from "../policy/validateInTurns.js";
import { lineErrorOf } from "../results/resultLine.js";
import { chunk } from "../util/chunk.js";
import type { LoopQueue } from "../util/loopQueue.js";
import { WorkQueue } from "../util/workQueue.js";
import { type CheckedTransaction, checkFit, type FitDependencies } from "./fit.js";

/** The dry run of a submit. It finds out whether each transaction would be accepted, and accepts none. */
export type Checker = ReturnType<typeof createChecker>;

interface CheckDependencies extends FitDependencies {
  readonly options: Pick<ResolvedOptions, "chainId" | "maxWrapperBytes">;
  readonly policies: Pick<PolicySource, "current">;
  /** Spreads the checks over turns of the event loop. */
  readonly loop: LoopQueue;
  isShuttingDown(): boolean;
}

/** The maximum number of requests that query the node at the same time. Checks must not delay the lanes. */
export const MAX_CONCURRENT = 4;
/** The number of these that one key may have: so that another key's check finds room, and its reads a connection. */
export const MAX_CONCURRENT_PER_KEY = 2;
/** The maximum number of waiting requests, of all keys and of one key. Checks of one key must not delay those of others. */
export const MAX_WAITING = 64;
export const MAX_WAITING_PER_KEY = 8;
/** Requests of one address under a publishable key that wait. */
const MAX_WAITING_PER_ADDRESS = 2;

export function createChecker(dependencies: CheckDependencies) {
  const { chain, options, policies, loop, isShuttingDown } = dependencies;
  const queue = new WorkQueue({
    ...{ places: MAX_CONCURRENT, placesOfParty: MAX_CONCURRENT_PER_KEY },
    ...{ waiting: MAX_WAITING, waitingOfParty: MAX_WAITING_PER_KEY },
    refusal: (why) =>
      new ProtocolError("QUEUE_AT_CAPACITY", `the service runs as many checks as it may at once: ${why}`),
  });
  return {
    /**
     * @param simulated whether to run the calls of the transactions that would be accepted.
     * @returns one line for each transaction, in their order.
     * @throws {@link ProtocolError} for a request refused whole: `QUEUE_FULL` or `UNAVAILABLE` (D21).
     */
    async check(caller: Caller, transactions: readonly string[], simulated: boolean) {
      if (isShuttingDown()) throw shuttingDown();
      const rules = rulesFor(caller, options, policies.current());
      // Validation is part of the turn: to refuse a request for which there is no room must cost nothing.
      const checkAll = async () => {
        const size = transactions.length;
        const validations = await validateInTurns(transactions, {
          ...{ caller, rules, size, loop },
          isStopping: isShuttingDown,
        });
        if (validations === undefined) throw shuttingDown();
        const validated = validations.map((validation, index) => ({ index, ...validation }));
        const checked = await checkFit(validated, caller, dependencies);
        if (!simulated) return linesOf(checked, undefined);
        const valid = checked.flatMap((one) => ("valid" in one ? [one.valid] : []));
        return linesOf(checked, await simulate(chain, valid));
      };
      try {
        return await queue.run(checkAll, ownerOf(caller, MAX_WAITING_PER_ADDRESS));
      } catch (error) {
        throw checkRefusal(error);
      }
    },
  };
}

/** @param simulations of the transactions without an error, in their order; undefined if none were asked for. */
function linesOf(
  checked: readonly CheckedTransaction[],
  simulations: readonly Simulation[] | undefined,
): CheckLine[] {
  const nextSimulation = simulations?.values();
  return checked.map((one): CheckLine => {
    const { index } = one;
    if ("error" in one) return { index, success: false, error: lineErrorOf(one.error) };
    const simulation = nextSimulation?.next().value;
    const txHash = bytesToHex(one.valid.hash);
    return { index, success: true, txHash, ...(simulation && { simulation }) };
  });
}

/** Turns the failures of the node that make a check impossible for now into refusals. Returns any other error as it is. */
function checkRefusal(error: unknown): unknown {
  if (!(error instanceof RpcUnavailableError || error instanceof NodeRpcError)) return error;
  const message = "this check needs the chain's node, which does not answer it";
  return new ProtocolError("CHAIN_UNAVAILABLE", message, {}, { cause: error });
}

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
