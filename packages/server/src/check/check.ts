import { setImmediate } from "node:timers/promises";
import {
  assertInnerTx,
  bytesToHex,
  type CheckLine,
  type InnerTxRules,
  ProtocolError,
  parseInnerTx,
  type Simulation,
} from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/nodeClient.js";
import { RpcError, RpcUnavailableError } from "../chain/rpc.js";
import type { Caller } from "../model/caller.js";
import type { ResolvedOptions } from "../model/options.js";
import { shuttingDown, storeErrors } from "../model/unavailable.js";
import { rulesFor } from "../policy/rules.js";
import type { PolicySource } from "../policy/source.js";
import { lineErrorOf } from "../results/lines.js";
import { capUse } from "../store/caps.js";
import type { Store } from "../store/store.js";
import { createFairSemaphore, TooManyWaitingError } from "../util/fairSemaphore.js";
import { type IndexedTransaction, loadAccounts } from "./accounts.js";
import { checkCaps, type Reservation } from "./caps.js";
import { simulate } from "./simulate.js";

/** The dry run of a submit: says of each transaction whether it would be taken. It accepts and changes nothing. */
export interface Checker {
  /**
   * One line for each transaction, in their order.
   * @throws {@link ProtocolError} for a request refused whole: `QUEUE_FULL` or `UNAVAILABLE` (D21).
   */
  check(caller: Caller, transactions: readonly string[], simulated: boolean): Promise<CheckLine[]>;
}

export interface CheckDependencies {
  readonly store: Store;
  readonly chain: NodeClient;
  readonly options: Pick<ResolvedOptions, "chainId">;
  readonly policies: Pick<PolicySource, "current">;
  readonly chainRef: number;
  isShuttingDown(): boolean;
}

/**
 * Requests that ask the node at once, and those that may wait for their turn, of all keys and of one: checks must not
 * delay the lanes, nor those of one key the others'.
 */
export const MAX_CONCURRENT = 4;
export const MAX_WAITING = 64;
export const MAX_WAITING_PER_KEY = 8;
/** Transactions that are looked at before others have their turn. */
const SLICE_TRANSACTIONS = 25;

/** A transaction of the request: refused already, or one that keeps every rule but may not fit its account. */
type Examined = { readonly index: number; readonly error: ProtocolError } | IndexedTransaction;

export function createChecker(dependencies: CheckDependencies): Checker {
  const { chain, options, policies, isShuttingDown } = dependencies;
  const turns = createFairSemaphore(MAX_CONCURRENT, MAX_WAITING, MAX_WAITING_PER_KEY);
  return {
    async check(caller, transactions, simulated) {
      if (isShuttingDown()) throw shuttingDown();
      const rules = rulesFor(caller, { ...options, policies: policies.current() });
      const examined: Examined[] = [];
      for (const [index, text] of transactions.entries()) {
        if (index > 0 && index % SLICE_TRANSACTIONS === 0) await setImmediate();
        examined.push(examine(text, index, rules));
      }
      const lookUp = async () => {
        const fitting = await fit(examined, caller, dependencies);
        const valid = fitting.flatMap((one) => ("valid" in one ? [one.valid] : []));
        const outcomes = simulated ? await simulate(chain, valid) : [];
        return linesOf(fitting, simulated ? outcomes : undefined);
      };
      try {
        return await turns.run(lookUp, caller.keyId);
      } catch (error) {
        throw refusalOf(error);
      }
    },
  };
}

/** Pure: form, the chain's rules, what the waivers and the key may send. */
function examine(text: string, index: number, rules: InnerTxRules): Examined {
  try {
    return { index, valid: assertInnerTx(parseInnerTx(text), rules) };
  } catch (error) {
    if (error instanceof ProtocolError) return { index, error };
    throw error;
  }
}

/** What the senders' accounts, and then the key's daily caps, say to those that keep every other rule. */
async function fit(
  examined: readonly Examined[],
  { keyId, caps }: Caller,
  dependencies: CheckDependencies,
): Promise<Examined[]> {
  const valid = examined.filter((one) => "valid" in one);
  const accounts = await loadAccounts(valid, dependencies);
  const { refused, known } = accounts.verdict();
  let refusals = refused;
  if (caps) {
    const { senders } = accounts;
    const use = await storeErrors(() => capUse(dependencies.store, keyId, senders));
    const isTaken = ({ index }: IndexedTransaction) => !refused.has(index) && !known.has(index);
    const capped = checkCaps(queuesOf(valid, isTaken), caps, use, senders);
    // What is behind one that is not accepted is ahead of its turn, or has the nonce now.
    refusals = new Map([...accounts.verdict(new Set(capped.keys())).refused, ...capped]);
  }
  return examined.map((one) => {
    const error = refusals.get(one.index);
    return error ? { index: one.index, error } : one;
  });
}

/** For each nonce of a sender: the one that would be taken, and those behind it, which it is in the way of. */
function queuesOf(
  valid: readonly IndexedTransaction[],
  isTaken: (one: IndexedTransaction) => boolean,
): Reservation[][] {
  const queues = new Map<string, Reservation[]>();
  for (const one of valid) {
    const { sender, tx } = one.valid;
    const place = `${bytesToHex(sender)} ${tx.nonce}`;
    const queue = queues.get(place);
    if (queue) queue.push(reservationOf(one));
    else if (isTaken(one)) queues.set(place, [reservationOf(one)]);
  }
  return [...queues.values()];
}

function reservationOf({ index, valid }: IndexedTransaction): Reservation {
  return { index, sender: valid.sender, gasLimit: valid.tx.gasLimit };
}

/** @param simulations of the valid ones, in their order; undefined if they were not asked for. */
function linesOf(examined: readonly Examined[], simulations: readonly Simulation[] | undefined): CheckLine[] {
  const next = simulations?.values();
  return examined.map((one): CheckLine => {
    const { index } = one;
    if ("error" in one) return { index, success: false, error: lineErrorOf(one.error) };
    const simulation = next?.next().value;
    const txHash = bytesToHex(one.valid.hash);
    return { index, success: true, txHash, ...(simulation && { simulation }) };
  });
}

function refusalOf(error: unknown): unknown {
  if (error instanceof TooManyWaitingError) {
    const message = `the service checks as many requests as it takes on: ${error.message}`;
    return new ProtocolError("QUEUE_AT_CAPACITY", message, {}, { cause: error });
  }
  if (!(error instanceof RpcUnavailableError || error instanceof RpcError)) return error;
  const message = "the chain's node does not tell what this check needs to know";
  return new ProtocolError("CHAIN_UNAVAILABLE", message, {}, { cause: error });
}
