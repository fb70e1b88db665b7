import { bytesToHex, type CheckLine, ProtocolError, type Simulation } from "@gas-waiver/protocol";
import { NodeRpcError, RpcUnavailableError } from "../chain/rpc/rpc.js";
import { type Caller, ownerOf } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import { shuttingDown } from "../model/shuttingDown.js";
import { rulesFor } from "../policy/rules.js";
import type { PolicySource } from "../policy/source.js";
import { validateInTurns } from "../policy/validateInTurns.js";
import { lineErrorOf } from "../results/resultLine.js";
import type { LoopQueue } from "../util/loopQueue.js";
import { WorkQueue } from "../util/workQueue.js";
import { type CheckedTransaction, checkFit, type FitDependencies } from "./fit.js";
import { simulate } from "./simulate.js";

/** The dry run of a submit. It finds out whether each transaction would be accepted, and accepts none. */
export interface Checker {
  /**
   * @param simulated whether to run the calls of the transactions that would be accepted.
   * @returns one line for each transaction, in their order.
   * @throws {@link ProtocolError} for a request refused whole: `QUEUE_FULL` or `UNAVAILABLE` (D21).
   */
  check(caller: Caller, transactions: readonly string[], simulated: boolean): Promise<CheckLine[]>;
}

export interface CheckDependencies extends FitDependencies {
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
export const MAX_WAITING_PER_ADDRESS = 2;

export function createChecker(dependencies: CheckDependencies): Checker {
  const { chain, options, policies, loop, isShuttingDown } = dependencies;
  const queue = new WorkQueue({
    ...{ places: MAX_CONCURRENT, placesOfParty: MAX_CONCURRENT_PER_KEY },
    ...{ waiting: MAX_WAITING, waitingOfParty: MAX_WAITING_PER_KEY },
    refusal: (why) =>
      new ProtocolError("QUEUE_AT_CAPACITY", `the service runs as many checks as it may at once: ${why}`),
  });
  return {
    async check(caller, transactions, simulated) {
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
