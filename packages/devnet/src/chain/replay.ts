import { setImmediate } from "node:timers/promises";
import type { SealedBlock } from "../block/block.js";
import type { IncludedTransaction } from "../block/included.js";
import { decodeForEvm } from "../block/transaction.js";
import { type CallFrame, CallTracer } from "../evm/callTracer.js";
import { Overlay } from "../state/overlay.js";
import type { StateReader } from "../state/reader.js";
import { raiseNonce } from "./builder.js";
import type { Chain } from "./chain.js";

/**
 * Runs a block's transactions again on the state on which it was built, and traces some of them.
 * @param tracedIndices the indices of the transactions to trace.
 * @returns the outermost call of each, by index. A wrapper makes no call (D9) and is left out.
 */
export async function traceBlock(
  chain: Chain,
  block: SealedBlock,
  before: StateReader,
  tracedIndices: ReadonlySet<number>,
): Promise<ReadonlyMap<number, CallFrame>> {
  const state = new Overlay(before);
  const frames = new Map<number, CallFrame>();
  const last = Math.max(...tracedIndices);
  for (const [index, included] of block.transactions.entries()) {
    if (index > last) break;
    // Tracing every opcode is slow, so yield to other requests.
    await setImmediate();
    const tracer = tracedIndices.has(index) ? new CallTracer() : undefined;
    await rerun(chain, block, state, included, tracer);
    if (tracer?.root !== undefined) frames.set(index, tracer.root);
  }
  return frames;
}

async function rerun(
  chain: Chain,
  block: SealedBlock,
  state: Overlay,
  { role, tx }: IncludedTransaction,
  tracer: CallTracer | undefined,
): Promise<void> {
  if (role === "wrapper") return raiseNonce(tx.sender, state);
  // The block has the transaction, so a contract as its sender was impersonated.
  state.allowContractSender(tx.sender);
  const execution = await chain.openIn(block, state, tracer);
  await execution.transaction(decodeForEvm(tx.raw, tx.sender));
}
