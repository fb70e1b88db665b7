import { setTimeout as sleep } from "node:timers/promises";
import { SEND } from "../nodeZoo/exchange.js";
import type { SeededRandom } from "../support/seededRandom.js";
import type { Environment } from "./environment.js";

/** A fault of the chain itself. */
export interface ChainFault {
  begin(): unknown;
  end(): unknown;
}
export type MakeChainFault = (environment: Environment, random: SeededRandom) => ChainFault;

const BLOCK_PAUSE_MS = 120;

/**
 * Takes the chain back by some blocks.
 * @param keep the share of the transactions sent meanwhile that go back to the pool, as a node puts them there.
 */
async function reorg(
  { chain, node }: Environment,
  random: SeededRandom,
  { depth, keep }: { readonly depth: number; readonly keep: number },
): Promise<void> {
  // Without the miner's clock, no block comes between the snapshot and the way back to it. Other faults may spoil every
  // method but the controls.
  await chain.call("devnet_stopMining");
  const before = new Set(node.sent.keys());
  const { head } = await chain.call<{ head: { number: number } }>("devnet_status");
  const snapshot = await chain.call("evm_snapshot");
  for (let i = 0; i < depth; i++) {
    await chain.call("evm_mine");
    await sleep(BLOCK_PAUSE_MS);
  }
  // The pool has what it had at the snapshot again.
  await chain.call("evm_revert", snapshot);
  chain.rewind(head.number);
  for (const [hash, raw] of node.sent)
    if (!before.has(hash) && random.chance(keep)) await chain.call(SEND, raw).catch(() => {});
  await chain.call("devnet_resumeMining");
}

/** Repeats an action until the fault ends. */
function repeated(run: () => Promise<unknown>, pause: () => number): ChainFault {
  let isOver = false;
  let running: Promise<void> = Promise.resolve();
  const loop = async () => {
    while (!isOver) {
      await run();
      await sleep(pause());
    }
  };
  return {
    begin() {
      running = loop();
    },
    async end() {
      isOver = true;
      await running;
    },
  };
}

/** Faults of the chain, by name. */
export const CHAIN_FAULTS = {
  /** No block for longer than the service's time-outs of requests, nonce gaps and the queue. */
  halt: ({ chain }) => ({
    begin: () => chain.call("devnet_stopMining"),
    end: () => chain.call("devnet_resumeMining"),
  }),
  /** Reorgs of up to three blocks; the node puts their transactions back into its pool. */
  reorg: (environment, random) =>
    repeated(
      () => reorg(environment, random, { depth: random.between(1, 3), keep: 1 }),
      () => random.between(200, 900),
    ),
  /** The same, and the node forgets most of the transactions. */
  reorgForgetting: (environment, random) =>
    repeated(
      () => reorg(environment, random, { depth: random.between(1, 3), keep: 0.3 }),
      () => random.between(200, 900),
    ),
  /** The pool forgets some transactions again and again. */
  evict: ({ chain }, random) =>
    repeated(
      () => chain.call("devnet_evictPool", random.chance(0.5) ? "all" : random.between(1, 10)),
      () => random.between(50, 400),
    ),
} satisfies Readonly<Record<string, MakeChainFault>>;
