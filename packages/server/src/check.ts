import {
  assertInnerTx,
  bytesToHex,
  type CheckLine,
  type Hex,
  type InnerTxRules,
  ProtocolError,
  parseInnerTx,
  type Simulation,
  type ValidInnerTx,
} from "@gas-waiver/protocol";
import type { Caller } from "./caller.js";
import type { Chain } from "./chain.js";
import { checkSender } from "./checkSender.js";
import { lineErrorOf } from "./lines.js";
import type { ResolvedOptions } from "./options.js";
import type { PolicySource } from "./policySource.js";
import { RpcError, RpcUnavailableError } from "./rpc.js";
import { rulesFor } from "./rules.js";
import { simulate } from "./simulate.js";
import type { Store } from "./store/Store.js";
import { senderWork } from "./store/senderWork.js";
import { createTurns, TooManyWaitingError } from "./turns.js";
import { shuttingDown, storeErrors } from "./unavailable.js";

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
  readonly chain: Chain;
  readonly options: Pick<ResolvedOptions, "chainId">;
  readonly policies: Pick<PolicySource, "current">;
  readonly chainRef: number;
  isShuttingDown(): boolean;
}

/** Requests that ask the node at once, and those that may wait for their turn: checks must not delay the lanes. */
const AT_ONCE = 4;
const MOST_WAITING = 64;

/** A transaction of the request: refused already, or one that keeps every rule but may not fit its account. */
type Examined = { readonly index: number } & (
  | { readonly error: ProtocolError }
  | { readonly valid: ValidInnerTx }
);

export function createChecker(dependencies: CheckDependencies): Checker {
  const { chain, options, policies, isShuttingDown } = dependencies;
  const turns = createTurns(AT_ONCE, MOST_WAITING);
  return {
    async check(caller, transactions, simulated) {
      if (isShuttingDown()) throw shuttingDown();
      const rules = rulesFor(caller, { ...options, policies: policies.current() });
      const examined = transactions.map((text, index) => examine(text, index, rules));
      const lookUp = async () => {
        const fitting = await fitToAccounts(examined, dependencies);
        const valid = fitting.flatMap((one) => ("valid" in one ? [one.valid] : []));
        const outcomes = simulated ? await simulate(chain, valid) : [];
        return linesOf(fitting, simulated ? outcomes : undefined);
      };
      try {
        return await turns.run(lookUp);
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

/** Holds each sender's transactions against its account and against what is under way. */
async function fitToAccounts(
  examined: readonly Examined[],
  { store, chain, chainRef }: CheckDependencies,
): Promise<Examined[]> {
  const bySender = new Map<Hex, { readonly index: number; readonly valid: ValidInnerTx }[]>();
  for (const one of examined) {
    if (!("valid" in one)) continue;
    const sender = bytesToHex(one.valid.sender);
    bySender.set(sender, [...(bySender.get(sender) ?? []), one]);
  }
  const groups = [...bySender.values()];
  const senders = groups.flatMap(([first]) => (first ? [first.valid.sender] : []));
  const asked = groups.flat().map(({ valid }) => ({ sender: valid.sender, nonce: valid.tx.nonce }));
  // After the store: what is settled in between counts as under way and as used, never as neither.
  const work = await storeErrors(() => senderWork(store, chainRef, asked));
  const accounts = await chain.accounts(senders);
  const refused = new Map<number, ProtocolError>();
  for (const [i, sender] of senders.entries()) {
    const name = bytesToHex(sender);
    const ofSender = work.filter((one) => bytesToHex(one.sender) === name);
    const account = accounts[i] ?? { nonce: 0n, balance: 0n };
    for (const [index, error] of checkSender((groups[i] ?? []).map(candidateOf), {
      sender,
      ...account,
      work: ofSender,
    }))
      refused.set(index, error);
  }
  return examined.map((one) => {
    const error = refused.get(one.index);
    return error ? { index: one.index, error } : one;
  });
}

function candidateOf({ index, valid }: { readonly index: number; readonly valid: ValidInnerTx }) {
  const { tx, hash } = valid;
  return { index, innerHash: hash, nonce: tx.nonce, value: tx.value };
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
