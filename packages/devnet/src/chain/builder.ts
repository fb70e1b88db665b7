import { setImmediate } from "node:timers/promises";
import { type Hex, ProtocolError } from "@gas-waiver/protocol";
import { BlockDraft } from "../block/block.js";
import type { BlockEnvironment, Execution, Outcome } from "../evm/executor.js";
import { effectiveGasPrice } from "../evm/gasPrice.js";
import { type AdmissionRules, type PoolEntry, recheck, type WrapperEntry } from "../pool/admission.js";
import type { Pool } from "../pool/pool.js";
import { RefusedError } from "../pool/refusedError.js";
import type { Overlay } from "../state/overlay.js";
import { EMPTY_ACCOUNT, NO_BYTES, type StateReader } from "../state/reader.js";

/** The parts that a block is built with. */
export interface BuildDependencies {
  /** Runs the transactions on the state. */
  readonly execution: Execution;
  readonly environment: BlockEnvironment;
  readonly pool: Pool;
  readonly rules: AdmissionRules;
}

/** The number of blocks that a wrapper may wait for its inner's nonce, holding up its waiver, before it is dropped. */
const MAX_HELD_BLOCKS = 20n;

/** The time in ms after which building a block yields to the event loop, at the end of a transaction. */
const TURN_MS = 8;

/**
 * Runs the transactions of the pool on a state.
 *
 * The transactions of a signer run in nonce order, and signers take turns. A wrapper whose inner is ahead of its
 * sender's nonce holds up its waiver until that nonce comes up, in this block or one of the next. Transactions that
 * break a rule by now are dropped, and the block goes on (D8).
 */
export async function buildBlock(state: Overlay, dependencies: BuildDependencies): Promise<BlockDraft> {
  const { environment, pool } = dependencies;
  const draft = new BlockDraft();
  // Iteration over a set follows the order of insertion and includes elements added meanwhile.
  const ready = new Set(pool.signers());
  const waiting = new Map<Hex, Hex[]>();
  let turnStart = performance.now();
  for (const signer of ready) {
    ready.delete(signer);
    const entry = pool.get(signer, nonceOf(state, signer));
    if (entry === undefined || draft.gasUsed + entry.gasLimit > environment.gasLimit) continue;
    if (isInnerAhead(entry, state) && pool.hold(entry, environment.number) < MAX_HELD_BLOCKS) {
      waiting.set(entry.inner.sender, [...(waiting.get(entry.inner.sender) ?? []), signer]);
      continue;
    }
    if (!(await include(entry, state, draft, dependencies))) continue;
    for (const account of accountsOf(entry)) {
      // The account's next transaction may be ready now, and so may wrappers that wait for an inner of this account.
      for (const next of [account, ...(waiting.get(account) ?? [])]) ready.add(next);
      waiting.delete(account);
    }
    if (performance.now() - turnStart < TURN_MS) continue;
    await setImmediate();
    turnStart = performance.now();
  }
  await draft.prepare();
  return draft;
}

/**
 * Whether the entry's inner is ahead of its sender's nonce. A waiver that wraps its own transaction uses one nonce for
 * the wrapper first.
 */
export function isInnerAhead(entry: PoolEntry, state: StateReader): entry is WrapperEntry {
  if (entry.kind !== "wrapper") return false;
  const wrapperNonces = entry.inner.sender === entry.signer ? 1n : 0n;
  return entry.innerNonce > nonceOf(state, entry.inner.sender) + wrapperNonces;
}

/** The accounts whose nonces the entry uses. */
function accountsOf(entry: PoolEntry): Hex[] {
  return entry.kind === "wrapper" ? [entry.signer, entry.inner.sender] : [entry.signer];
}

/** Checks one entry (D8) and runs it. @returns false if it was dropped. */
async function include(
  entry: PoolEntry,
  state: Overlay,
  draft: BlockDraft,
  { execution, pool, rules, environment }: BuildDependencies,
): Promise<boolean> {
  await state.checkpoint();
  try {
    await recheck(entry, state, rules);
    if (entry.kind === "wrapper") await runWrapper(entry, state, execution, draft);
    else {
      if (entry.impersonated) state.allowContractSender(entry.signer);
      const outcome = await execution.transaction(entry.evm);
      draft.add(entry.tx, "ordinary", outcome, effectiveGasPrice(entry.evm, environment.baseFee));
    }
  } catch (error) {
    await state.revert();
    pool.drop(entry, reasonOf(error), error instanceof Error ? error.message : String(error));
    return false;
  }
  await state.commit();
  pool.remove(entry);
  return true;
}

/** Raises the waiver's nonce, then runs the inner at the top level as its own sender (D9, D10). */
async function runWrapper(
  entry: WrapperEntry,
  state: Overlay,
  execution: Execution,
  draft: BlockDraft,
): Promise<void> {
  raiseNonce(entry.signer, state);
  const outcome = await execution.transaction(entry.innerEvm);
  draft.add(entry.tx, "wrapper", wrapperOutcome(entry, outcome), 0n);
  draft.add(entry.inner, "inner", outcome, 0n);
}

/** All that a wrapper itself does to the state. */
export function raiseNonce(waiver: Hex, state: Overlay): void {
  const record = state.account(waiver) ?? EMPTY_ACCOUNT;
  state.setAccount(waiver, { ...record, nonce: record.nonce + 1n });
}

/** A wrapper's outcome has its own overhead, no logs, and the inner's status (D10). */
function wrapperOutcome({ overheadGas }: WrapperEntry, { status, failure }: Outcome): Outcome {
  return { status, failure, gasUsed: overheadGas, logs: [], returnData: NO_BYTES, created: undefined };
}

function nonceOf(state: StateReader, account: Hex): bigint {
  return state.account(account)?.nonce ?? 0n;
}

function reasonOf(error: unknown): string {
  return error instanceof ProtocolError || error instanceof RefusedError
    ? error.reason
    : "EXECUTION_IMPOSSIBLE";
}
