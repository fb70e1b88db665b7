import { type Hex, ProtocolError } from "@gas-waiver/protocol";
import { BlockDraft } from "../block/block.js";
import type { BlockEnvironment, Execution, Executor, Outcome } from "../evm/executor.js";
import {
  type AdmissionRules,
  type Entry,
  effectiveGasPrice,
  recheck,
  type WrapperEntry,
} from "../pool/admission.js";
import type { Pool } from "../pool/pool.js";
import { RefusedError } from "../pool/refusedError.js";
import { Overlay } from "../state/overlay.js";
import { EMPTY_ACCOUNT, NO_BYTES, type StateReader } from "../state/reader.js";

export interface BuildDependencies {
  readonly pool: Pool;
  readonly executor: Executor;
  readonly rules: AdmissionRules;
}

export interface BuiltBlock {
  readonly draft: BlockDraft;
  readonly state: Overlay;
}

/** So many blocks an inner ahead of its sender's nonce may hold its waiver's lane, before it is dropped. */
const HELD_BLOCKS = 20n;

/** How long a block in the making may keep the event loop to itself, in ms. */
const TURN_MS = 8;

/**
 * Runs what waits in the pool on top of a state.
 *
 * Each signer is a lane in nonce order, and lanes take turns. A wrapper whose inner is ahead of its sender's
 * nonce holds its lane until that nonce comes up, in this block or one of the next few. Whatever no longer
 * keeps the rules is dropped and the block goes on (D8).
 */
export async function buildBlock(
  base: StateReader,
  environment: BlockEnvironment,
  { pool, executor, rules }: BuildDependencies,
): Promise<BuiltBlock> {
  const state = new Overlay(base);
  const execution = await executor.open(state, environment);
  const draft = new BlockDraft();
  // A set is walked in the order of adding, also what is added or comes back on the way.
  const ready = new Set(pool.signers());
  const waiting = new Map<Hex, Hex[]>();
  let turn = performance.now();
  for (const signer of ready) {
    ready.delete(signer);
    const entry = pool.get(signer, nonceOf(state, signer));
    if (entry === undefined || draft.gasUsed + entry.gasLimit > environment.gasLimit) continue;
    if (isAhead(entry, state) && pool.hold(entry, environment.number) < HELD_BLOCKS) {
      waiting.set(entry.inner.sender, [...(waiting.get(entry.inner.sender) ?? []), signer]);
      continue;
    }
    if (!(await include(entry, state, execution, draft, pool, rules))) continue;
    for (const account of accountsOf(entry)) {
      // Its own next transaction may be up now, and inners of its own in other lanes.
      for (const lane of [account, ...(waiting.get(account) ?? [])]) ready.add(lane);
      waiting.delete(account);
    }
    if (performance.now() - turn < TURN_MS) continue;
    await serveOthers();
    turn = performance.now();
  }
  await draft.prepare(serveOthers);
  return { draft, state };
}

function serveOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Whether an inner is ahead of its sender's nonce, which a waiver's own wrapper raises just before it runs. */
export function isAhead(entry: Entry, state: StateReader): entry is WrapperEntry {
  if (entry.kind !== "wrapper") return false;
  const own = entry.inner.sender === entry.signer ? 1n : 0n;
  return entry.innerNonce > nonceOf(state, entry.inner.sender) + own;
}

/** Accounts whose nonce the entry uses. */
function accountsOf(entry: Entry): Hex[] {
  return entry.kind === "wrapper" ? [entry.signer, entry.inner.sender] : [entry.signer];
}

/** Checks (D8) and runs one entry. @returns false when it was dropped. */
async function include(
  entry: Entry,
  state: Overlay,
  execution: Execution,
  draft: BlockDraft,
  pool: Pool,
  rules: AdmissionRules,
): Promise<boolean> {
  await state.checkpoint();
  try {
    await recheck(entry, state, rules);
    if (entry.kind === "wrapper") await runWrapper(entry, state, execution, draft);
    else {
      if (entry.impersonated) state.allowContractSender(entry.signer);
      draft.add(entry.tx, "ordinary", await execution.transaction(entry.evm), effectiveGasPrice(entry.evm));
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

/** D9 and D10: the waiver's nonce goes up, then the inner runs at the top level as its own sender. */
async function runWrapper(
  entry: WrapperEntry,
  state: Overlay,
  execution: Execution,
  draft: BlockDraft,
): Promise<void> {
  const waiver = state.account(entry.signer) ?? EMPTY_ACCOUNT;
  state.setAccount(entry.signer, { ...waiver, nonce: waiver.nonce + 1n });
  const outcome = await execution.transaction(entry.innerEvm);
  draft.add(entry.tx, "wrapper", wrapperOutcome(entry, outcome), 0n);
  draft.add(entry.inner, "inner", outcome, 0n);
}

/** D10: the wrapper's own overhead, no logs, the inner's status. */
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
