import type { SealedBlock } from "../block/block.js";
import type { Included } from "../block/included.js";
import { decodeForEvm } from "../block/transaction.js";
import { type CallFrame, CallTracer } from "../evm/callTracer.js";
import { Overlay } from "../state/overlay.js";
import { EMPTY_ACCOUNT, type StateReader } from "../state/reader.js";
import type { Chain } from "./chain.js";

/**
 * Runs a block's transactions again, on the state on which it was built, and watches some.
 * @param wanted the places of those to watch.
 * @returns their calls, by place. A wrapper runs nothing of its own (D9), and so has none.
 */
export async function traceBlock(
  chain: Chain,
  block: SealedBlock,
  before: StateReader,
  wanted: ReadonlySet<number>,
): Promise<ReadonlyMap<number, CallFrame>> {
  const state = new Overlay(before);
  const frames = new Map<number, CallFrame>();
  const last = Math.max(...wanted);
  for (const [place, included] of block.transactions.entries()) {
    if (place > last) break;
    // Watching every opcode is slow, and others want to be served.
    await new Promise((resolve) => setImmediate(resolve));
    const tracer = wanted.has(place) ? new CallTracer() : undefined;
    await runAgain(chain, block, state, included, tracer);
    if (tracer?.root !== undefined) frames.set(place, tracer.root);
  }
  return frames;
}

async function runAgain(
  chain: Chain,
  block: SealedBlock,
  state: Overlay,
  { role, tx }: Included,
  tracer: CallTracer | undefined,
): Promise<void> {
  if (role === "wrapper") {
    const waiver = state.account(tx.sender) ?? EMPTY_ACCOUNT;
    state.setAccount(tx.sender, { ...waiver, nonce: waiver.nonce + 1n });
    return;
  }
  // It did run, so if a contract sent it, it was impersonated.
  state.allowContractSender(tx.sender);
  const execution = await chain.openIn(block, state, tracer);
  await execution.transaction(decodeForEvm(tx.raw, tx.sender));
}
