import { blockCall, nonceCallAt } from "../chain/client/calls.js";
import { resultIn } from "../chain/rpc/rpc.js";
import type { FoundTransaction } from "./checkLookups.js";
import { type Finding, ok, refuses, warning } from "./finding.js";
import { blockIn, type ProbedBlock, type ProbedNode, quantityIn } from "./probedNode.js";

/** Depths below the head that are tried. */
const DEPTHS = [1n, 32n, 127n, 1_000n, 10_000n, 100_000n] as const;
/** Fewer blocks bring a warning. Where there are no states, the proof of a used nonce searches up to 10,000 blocks. */
const NEEDED_BLOCKS = 1_000n;
const ANYBODY = `0x${"0".repeat(40)}`;

/**
 * Finds how far back blocks and the states after them can be read. The proof of who used a nonce needs them (D28).
 * @param known a transaction of the chain, whose sender's nonces around its block are known.
 */
export async function checkHistory(
  { rpc }: ProbedNode,
  head: ProbedBlock | undefined,
  { reorgDepth, known }: { readonly reorgDepth: number; readonly known: FoundTransaction | undefined },
): Promise<Finding> {
  if (head === undefined) return ok("history", "the node has no blocks");
  const depths = [...new Set([BigInt(reorgDepth), ...DEPTHS])].filter((depth) => depth < head.number);
  const heights = depths.map((depth) => head.number - depth);
  const account = known?.from ?? ANYBODY;
  const around = known ? [known.blockNumber - 1n, known.blockNumber] : [];
  const [blocks, states, nonces] = await Promise.all([
    rpc.read(heights.map(blockCall)),
    rpc.read(heights.map((height) => nonceCallAt(account, height))),
    rpc.read(around.map((height) => nonceCallAt(account, height))),
  ]);
  const hasBlock = blocks.map((outcome, i) => blockIn(outcome)?.number === heights[i]);
  const hasState = states.map((outcome) => quantityIn(resultIn(outcome)) !== undefined);
  const reach = { blocks: reachOf(depths, hasBlock), states: reachOf(depths, hasState) };
  const deepest = depths.reduce((a, b) => (a > b ? a : b), 0n);
  const [before, after] = nonces.map((outcome) => quantityIn(resultIn(outcome)));
  const isContradictory =
    known !== undefined &&
    ((before !== undefined && before > known.nonce) || (after !== undefined && after <= known.nonce));
  return findingOf(reach, { deepest, reorgDepth: BigInt(reorgDepth), isContradictory });
}

/** The greatest depth up to which all that were tried are there. */
function reachOf(depths: readonly bigint[], isThere: readonly boolean[]): bigint {
  const missing = depths.filter((_, i) => !isThere[i]);
  const limit = missing.reduce<bigint | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined);
  const reached = depths.filter((depth) => limit === undefined || depth < limit);
  return reached.reduce((a, b) => (a > b ? a : b), 0n);
}

function findingOf(
  { blocks, states }: { readonly blocks: bigint; readonly states: bigint },
  facts: { readonly deepest: bigint; readonly reorgDepth: bigint; readonly isContradictory: boolean },
): Finding {
  const found = `blocks are there ${blocks} deep, states ${states} deep; ${facts.deepest} were tried`;
  const needed = NEEDED_BLOCKS < facts.deepest ? NEEDED_BLOCKS : facts.deepest;
  if (blocks < facts.reorgDepth && facts.deepest >= facts.reorgDepth) {
    return refuses("history", {
      found,
      means: "no final block can be read, so the use of a nonce could never be proven",
      remedy: "use a node that keeps more blocks, or a lower --reorg-depth",
    });
  }
  if (blocks < needed) {
    return warning("history", {
      found,
      means: "the service cannot prove the use of a nonce that is older, as after a long outage",
      remedy: "let the node keep more blocks: CometBFT min-retain-blocks, geth --history.chain",
    });
  }
  if (facts.isContradictory) {
    return warning("history", {
      found: `${found}; a state is not the one of the block that was asked for`,
      means: "the proof of a used nonce may not come to an end",
      remedy: "use a node that answers eth_getTransactionCount for the block that is asked for",
    });
  }
  if (states >= 32n || states >= facts.deepest) return ok("history", found);
  return warning("history", {
    found,
    means: "the proof of a used nonce reads block after block, which is slower",
    remedy: "let the node keep the states of recent blocks: cosmos pruning, geth --gcmode",
  });
}
