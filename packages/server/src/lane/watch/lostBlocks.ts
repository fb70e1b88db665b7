import { bytesEqual } from "@gas-waiver/protocol";
import type { ChainHead } from "../../chain/client/nodeClient.js";
import {
  type FinalInclusion,
  findLastFinalInclusion,
  findLastFinalInclusions,
  stopForLostBlocks,
} from "../../store/lanes/blocks/finalInclusions.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { WatchContext } from "../context.js";

/*
 * A chain that was restored from a backup, or a node of another chain with the same beginning, lacks blocks that the store
 * knows as final. Such a chain would use the same nonces a second time, so the lane stops. A node that merely lags also
 * lacks blocks for a while, so a low nonce alone proves nothing. Over some time, the node must show another block at the
 * height of a final one, or a recent head below that height.
 */

/** A node's view of the last final block of a lane. */
export interface FinalityView {
  readonly recorded: FinalInclusion;
  /** The waiver's next nonce. */
  readonly waiverNonce: bigint;
  /** The hash of the block at the height of the recorded one; undefined if the node has none there. */
  readonly blockHash: Uint8Array | undefined;
  readonly head: ChainHead;
}

/** A head that is younger than this is not the head of a node that lags. */
const FRESH_HEAD_S = 30;

/** Compares the view with the record. A node may contradict itself, because it answers at two moments: that is no evidence. */
export function judgeFinality(
  { recorded, waiverNonce, blockHash, head }: FinalityView,
  nowS: number,
): "kept" | "lost" | "no evidence" {
  if (waiverNonce > recorded.waiverNonce) return "kept";
  if (blockHash !== undefined) return bytesEqual(blockHash, recorded.blockHash) ? "kept" : "lost";
  const isFresh = head.timestamp !== undefined && nowS - head.timestamp < FRESH_HEAD_S;
  return isFresh && head.number < recorded.blockNumber ? "lost" : "no evidence";
}

/** A node must show the loss for at least this long before the lane stops. */
export const CONFIRM_LOSS_MS = 15_000;

/**
 * Compares the last final blocks of all these lanes with the chain's nonces: one query, and one call for each lane.
 * @returns the lanes whose next nonce is not above that of their last final block. A {@link LostBlocksCheck} finds out why.
 */
export async function findDoubtedLanes(
  lanes: readonly HeldLane[],
  { store, chain }: Pick<WatchContext, "store"> & { readonly chain: Pick<WatchContext["chain"], "nonces"> },
): Promise<ReadonlySet<HeldLane>> {
  const [first] = lanes;
  if (first === undefined) return new Set();
  const waivers = lanes.map(({ waiver }) => waiver);
  const recorded = await findLastFinalInclusions(store, first.chain, waivers);
  const known = lanes.flatMap((lane, i) => {
    const inclusion = recorded[i];
    return inclusion ? [{ lane, used: inclusion.waiverNonce }] : [];
  });
  const next = await chain.nonces(known.map(({ lane }) => lane.waiver));
  const isDoubted = (used: bigint, i: number) => {
    const told = next[i];
    return told !== undefined && told <= used;
  };
  return new Set(known.flatMap(({ lane, used }, i) => (isDoubted(used, i) ? [lane] : [])));
}

/** Compares a doubted lane's final blocks with the chain, and stops the lane when the chain has lost them. */
export interface LostBlocksCheck {
  run(held: HeldLane): Promise<void>;
  /** Takes note that the chain has the lane's final blocks. */
  keep(): void;
}

/** @param now a monotonic clock in ms. */
export function createLostBlocksCheck(
  { store, chain, log, onLaneStopped }: Pick<WatchContext, "store" | "chain" | "log" | "onLaneStopped">,
  now: () => number = () => performance.now(),
): LostBlocksCheck {
  let lostSince: number | undefined;
  return {
    keep() {
      lostSince = undefined;
    },
    async run(held) {
      const view = await viewOf(held, { store, chain });
      const judgement = view && judgeFinality(view, Date.now() / 1_000);
      if (judgement === "kept") lostSince = undefined;
      if (view === undefined || judgement !== "lost") return;
      const seen = sentenceOf(view);
      if (lostSince === undefined) log.error({ seen }, "the chain seems to have lost final blocks");
      lostSince ??= now();
      if (now() - lostSince < CONFIRM_LOSS_MS) return;
      lostSince = undefined;
      const reason = `${seen}: the chain was restored from a backup, or the node is a wrong one; open the lane when the node is right`;
      if (!(await stopForLostBlocks(store, held, view.waiverNonce, reason))) return;
      onLaneStopped();
      log.fatal({ reason }, "the lane stops: the chain has lost final blocks");
    },
  };
}

async function viewOf(
  held: HeldLane,
  { store, chain }: Pick<WatchContext, "store" | "chain">,
): Promise<FinalityView | undefined> {
  const recorded = await findLastFinalInclusion(store, held);
  if (recorded === undefined) return undefined;
  const [waiverNonce = 0n] = await chain.nonces([held.waiver]);
  const unchanged = {
    recorded,
    waiverNonce,
    blockHash: undefined,
    head: { number: 0n, timestamp: undefined },
  };
  if (waiverNonce > recorded.waiverNonce) return unchanged;
  const [blockHash] = await chain.blockHashes([recorded.blockNumber]);
  if (blockHash === "unclear") return undefined;
  return { recorded, waiverNonce, blockHash, head: await chain.head() };
}

function sentenceOf({ recorded, waiverNonce }: FinalityView): string {
  const { blockNumber } = recorded;
  return `the waiver's next nonce is ${waiverNonce}, and final block ${blockNumber} had its nonce ${recorded.waiverNonce}`;
}
