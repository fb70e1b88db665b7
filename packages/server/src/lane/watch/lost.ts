import { bytesEqual } from "@gas-waiver/protocol";
import type { NodeClient } from "../../chain/client/nodeClient.js";
import type { NonceUse } from "../../chain/nonceUse.js";
import { LANE_WAITS, type LaneWait } from "../../model/submission/waitCauses.js";
import {
  type FinalInclusion,
  findLastFinalInclusion,
  findNewestInclusion,
  stopForLostBlocks,
} from "../../store/lanes/blocks/inclusions.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findKnownBelow, findUnknownNonces, raiseKnownBelow } from "../../store/lanes/nonces/lostWrappers.js";
import type { Store } from "../../store/store.js";
import { stopLane, type WatchContext } from "../context.js";
import { MOVE_CHECK_MS } from "../law/reconcile.js";
import { countForeign, findOwn } from "../law/usedNonces.js";
import type { Question } from "./doubts.js";

/*
 * A chain that was restored from a backup, or a node of another chain with the same beginning, lacks blocks that the store
 * knows as final. Such a chain would use the same nonces a second time, so the lane stops: on proof (D37). Over some time, the
 * node must show another block at the height of a final one, and later blocks. A node that ends below that height shows a
 * prefix of what is known. That is a lag, however long it lasts: the lane waits, and signs nothing under a used nonce. So it does where
 * another of the nodes has the final block: one may have stayed behind on a fork of its own.
 */

/** A node's view of the last final block of a lane, where it does not show its nonce as used. */
export interface FinalityView {
  readonly recorded: FinalInclusion;
  /** The waiver's next nonce. */
  readonly waiverNonce: bigint;
  /** The hash of the block at the height of the recorded one; undefined if the node has none there. */
  readonly blockHash: Uint8Array | undefined;
  /** Whether the node has the block by which another one at that height is final. */
  readonly isDeep: boolean;
}

/** Compares the view with the record. */
export function judgeFinality({ recorded, blockHash, isDeep }: FinalityView): "kept" | "lost" | "lag" {
  if (blockHash !== undefined && bytesEqual(blockHash, recorded.blockHash)) return "kept";
  return blockHash !== undefined && isDeep ? "lost" : "lag";
}

/** A node must show the loss for at least this long before the lane stops. */
const CONFIRM_LOSS_MS = 15_000;

export type LostBlocksCheck = ReturnType<typeof createLostBlocksCheck>;

type LostBlocksContext = Pick<WatchContext, "store" | "chain" | "log" | "onLaneStopped"> & {
  readonly options: Pick<WatchContext["options"], "reorgDepth">;
};

/**
 * Compares the lane's last final block with the chain, and stops the lane when the chain has lost it.
 * @param now a monotonic clock in ms.
 */
export function createLostBlocksCheck(
  context: LostBlocksContext,
  now: () => number = () => performance.now(),
) {
  const { store, log } = context;
  let recorded: FinalInclusion | undefined;
  let lostSince: number | undefined;
  /** Once is no wait: another node may answer the next time, behind one address. */
  let lags = 0;
  let wait: LaneWait | undefined;
  const keep = () => {
    lostSince = undefined;
    lags = 0;
    wait = undefined;
  };
  return {
    /** Undefined unless the lane waits for a node that lags. */
    get wait() {
      return wait;
    },
    /** @param isIdle nothing of the lane has come into a block since the last run. Then the store is not read. */
    async run(held: HeldLane, isIdle = false): Promise<void> {
      if (!isIdle) recorded = await findLastFinalInclusion(store, held);
      if (recorded === undefined) return keep();
      const [waiverNonce = 0n] = await context.chain.nonces([held.waiver]);
      if (waiverNonce > recorded.waiverNonce) return keep();
      const view = await viewOf(recorded, waiverNonce, context);
      if (view === undefined) return;
      const judgement = judgeFinality(view);
      if (judgement === "kept") return keep();
      const seen = sentenceOf(view);
      if (judgement === "lag") {
        lags++;
        if (lags > 1) wait = { cause: "lag", sentence: `${LANE_WAITS.lag}: ${seen}` };
        return;
      }
      if (lostSince === undefined) log.error({ seen }, "the chain seems to have lost final blocks");
      lostSince ??= now();
      if (now() - lostSince < CONFIRM_LOSS_MS) return;
      const shown = await context.chain.blockHashByEach(recorded.blockNumber);
      if (shown.some((hash) => bytesEqual(hash, view.recorded.blockHash))) {
        wait = {
          cause: "lag",
          sentence: `${LANE_WAITS.lag}: ${seen}, and another node still has that block`,
        };
        return;
      }
      lostSince = undefined;
      const reason = `${seen}: the chain was restored from a backup, or the node is a wrong one; open the lane when the node is right`;
      const stop = () => stopForLostBlocks(store, held, view.waiverNonce, reason);
      await stopLane(held, reason, ": the chain has lost final blocks", context, stop);
    },
  };
}

async function viewOf(
  recorded: FinalInclusion,
  waiverNonce: bigint,
  { chain, options }: LostBlocksContext,
): Promise<FinalityView | undefined> {
  const height = recorded.blockNumber;
  const deep = height + BigInt(Math.max(1, options.reorgDepth));
  const [blockHash, later] = await chain.blockHashes([height, deep]);
  if (blockHash === "unclear" || later === "unclear") return undefined;
  return { recorded, waiverNonce, blockHash, isDeep: later !== undefined };
}

function sentenceOf({ recorded, waiverNonce }: FinalityView): string {
  const { blockNumber } = recorded;
  return `the waiver's next nonce is ${waiverNonce}, and final block ${blockNumber} had its nonce ${recorded.waiverNonce}`;
}

/** An inclusion that the store has and the node does not show. */
export interface LostInclusion {
  readonly blockNumber: bigint;
  /** The waiver's nonce in that block; undefined if the lane has given it up. */
  readonly waiverNonce: bigint | undefined;
  /**
   * - `another block`: the node has another block at that height.
   * - `no block`: the node has none there: the chain was taken back, or the node is behind.
   * - `unused nonce`: the waiver's next nonce is not above the one of that block.
   */
  readonly found: "another block" | "no block" | "unused nonce";
}

/**
 * Compares the lane's newest inclusion, and the one with the highest nonce, with the node's blocks and nonces. Each block
 * refers to its parent, so a node with these blocks has the earlier ones too.
 * @param next the waiver's next nonce by the node.
 * @returns an inclusion that the node does not show; undefined if there is none.
 */
export async function findLostInclusion(
  lane: Pick<HeldLane, "chain" | "waiver">,
  next: bigint,
  { store, chain }: { readonly store: Store; readonly chain: Pick<NodeClient, "blockHashes"> },
): Promise<LostInclusion | undefined> {
  const found = [await findNewestInclusion(store, lane), await findLastFinalInclusion(store, lane)];
  const recorded = found.filter((one) => one !== undefined);
  const hashes = await chain.blockHashes(recorded.map(({ blockNumber }) => blockNumber));
  for (const [i, { blockNumber, blockHash, waiverNonce }] of recorded.entries()) {
    const hash = hashes[i];
    const lost = { blockNumber, waiverNonce };
    if (hash === undefined) return { ...lost, found: "no block" };
    if (hash !== "unclear" && !bytesEqual(hash, blockHash)) return { ...lost, found: "another block" };
    if (waiverNonce !== undefined && waiverNonce >= next) return { ...lost, found: "unused nonce" };
  }
  return undefined;
}

/** The proofs of some nonces may have been found by then. */
const AGAIN_MS = 1_000;

/**
 * Accounts for the nonces that the chain has used while the store does not know by which wrapper: each was used by a withdrawn
 * wrapper, by one that the store has lost, or by something else that has the key. For an hour after the store has moved to another
 * server, it looks below what is accounted for too. At a lane's first look, all that the chain has used was before this store.
 * It goes on until it has come to its end for now.
 */
export function createNonceAccount(context: WatchContext): Question {
  const { store, chain, nonceProofs } = context;
  const examined = new Set<bigint>();
  let examinedAfter: string | undefined;
  /** A second failover may lose what was stored again after the first. */
  const followMoves = async () => {
    const move = await store.moves.lastMove(MOVE_CHECK_MS);
    if (move !== examinedAfter) examined.clear();
    examinedAfter = move;
    return move !== undefined;
  };
  const findUses = async (held: HeldLane, unknown: readonly bigint[]) => {
    const last = unknown.length === 0 ? undefined : await findLastFinalInclusion(store, held);
    const uses: NonceUse[] = [];
    for (const nonce of unknown) {
      const sinceBlock = last && last.waiverNonce < nonce ? last.blockNumber : undefined;
      const use = await nonceProofs.find({ account: held.waiver, nonce, sinceBlock, isUrgent: true });
      if (use) uses.push(use);
    }
    return uses;
  };
  return async (held) => {
    const hasMoved = await followMoves();
    const [below = 0n] = await chain.nonces([held.waiver]);
    const knownBelow = (await findKnownBelow(store, held)) ?? below;
    const from = hasMoved ? 0n : knownBelow;
    const unknown = await findUnknownNonces(store, held, { from, below, except: examined });
    const uses = await findUses(held, unknown);
    const isAccounted = ({ nonce }: NonceUse) => nonce < knownBelow;
    await findOwn(held, uses.filter(isAccounted), context);
    const others = uses.filter((use) => !isAccounted(use));
    await countForeign(held, others, context);
    for (const { nonce } of uses) examined.add(nonce);
    if (unknown.length > 0) return AGAIN_MS;
    await raiseKnownBelow(store, held, below);
    if (!hasMoved) examined.clear();
    return undefined;
  };
}
