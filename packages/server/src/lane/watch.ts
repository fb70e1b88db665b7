import { bytesEqual } from "@gas-waiver/protocol";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { findCandidatesBelow, findInFlight, type InFlightSubmission } from "../store/lanes/inFlight.js";
import { raiseNonceFloor } from "../store/lanes/nonceFloor.js";
import { findUnfinalized, type UnfinalizedSubmission } from "../store/lanes/unfinalized.js";
import { saveFinal } from "../store/transitions/saveFinal.js";
import { saveReorged } from "../store/transitions/saveReorged.js";
import { NotBroadcastError } from "./applyAnswers.js";
import type { Broadcaster } from "./broadcaster.js";
import { RECEIPT_BATCH } from "./chainOutcomes.js";
import type { WatchContext } from "./context.js";
import { reconcile } from "./reconcile.js";
import { createForsakenRelease } from "./releaseForsaken.js";
import { requeueMisplaced } from "./requeueMisplaced.js";
import { missingPredecessors } from "./senderGaps.js";

/**
 * Follows the chain for one lane: reconciles the submissions below the waiver's nonce, resends a wrapper that waits too
 * long for a block, and notices when a reorg removes a block with one of the lane's submissions.
 */
export interface Watcher {
  /**
   * Compares the lane with the chain once.
   * @returns false if nothing of the lane is in flight, or in a block that is not final.
   */
  poll(held: HeldLane, mode?: WatchMode): Promise<boolean>;
}

/**
 * - `signs`: this process signs and sends for the lane.
 * - `sends`: nobody signs for the lane. Its stored wrappers go out again.
 * - `silent`: nobody signs for the lane, and nothing may be sent: it is stopped.
 *
 * Where nobody signs, another lane gets the submissions that blocks leave out (`releaseForsaken.ts`).
 */
export type WatchMode = "signs" | "sends" | "silent";

/** The submissions that are reconciled at a time. Two requests to the node suffice where all have a receipt. */
const CANDIDATES_PER_BATCH = 2 * RECEIPT_BATCH;
/** The lane's wrappers go out again when this many blocks came without the lowest: the pool may have dropped it. */
const MAX_BLOCKS_WITHOUT = 2n;
/** The store's floor of the waiver's nonces is raised after so many. */
const NONCES_PER_RAISE = 500n;

export function createWatcher(context: WatchContext, broadcaster: Broadcaster): Watcher {
  const { store, chain, options, broadcastBuffer } = context;
  const blockCount = createBlockCount();
  const release = createForsakenRelease(context);
  const nonceFloor = createNonceFloor(context);
  /** Repeats, since a busy lane has more than one batch in a block. */
  const reconcilePassed = async (held: HeldLane, waiverNonce: bigint) => {
    let first: string | undefined;
    for (;;) {
      const passed = await findCandidatesBelow(store, held, waiverNonce, CANDIDATES_PER_BATCH);
      await reconcile(held, passed, context);
      // The same first submission again means that these cannot be reconciled yet.
      if (passed.length < CANDIDATES_PER_BATCH || passed[0]?.id === first) return;
      first = passed[0]?.id;
    }
  };
  const sendAgain = async (held: HeldLane, block: bigint, waiverNonce: bigint) => {
    const unstored = broadcastBuffer.unstored();
    const [lowest] = await findInFlight(store, held, { limit: 1 });
    const isOverdue =
      lowest?.waiverNonce === waiverNonce &&
      (lowest.state === "broadcast" || unstored.has(lowest.id)) &&
      blockCount.blocksWithout(waiverNonce, block) >= MAX_BLOCKS_WITHOUT;
    if (isOverdue) await broadcastBuffer.flush(held.waiver);
    const age = isOverdue ? {} : { sentBeforeMs: options.resendAfterMs };
    const stale = await findInFlight(store, held, {
      state: "broadcast",
      ...age,
      limit: CANDIDATES_PER_BATCH,
    });
    if (isOverdue) blockCount.restart();
    const requeued = await requeueStuck(held, stale, context);
    await rebroadcast(
      held,
      stale.filter(({ id }) => !requeued.has(id)),
      broadcaster,
    );
  };
  return {
    async poll(held, mode = "signs") {
      const blockFloor = context.laneFloors?.of(held.waiver)?.blockFloor;
      const unfinalized =
        options.reorgDepth > 0 ? await findUnfinalized(store, held, CANDIDATES_PER_BATCH, blockFloor) : [];
      const [first] = await findInFlight(store, held, { limit: 1 });
      if (first === undefined && unfinalized.length === 0) return false;
      const block = await chain.blockNumber();
      await checkBlocks(held, unfinalized, block, context);
      if (first === undefined) return true;
      const [waiverNonce = 0n] = await chain.nonces([held.waiver]);
      await reconcilePassed(held, waiverNonce);
      await nonceFloor.follow(held, waiverNonce);
      if (mode === "sends") await resendSigned(held, broadcaster);
      if (mode !== "silent") await sendAgain(held, block, waiverNonce);
      if (mode !== "signs") await release(held, block, waiverNonce);
      return true;
    },
  };
}

/** Has the store pass over the nonces that the chain has used, after some hundreds of them. */
function createNonceFloor({ store }: Pick<WatchContext, "store">) {
  let raisedAt: bigint | undefined;
  return {
    async follow(held: HeldLane, waiverNonce: bigint): Promise<void> {
      if (raisedAt !== undefined && waiverNonce < raisedAt + NONCES_PER_RAISE) return;
      raisedAt = waiverNonce;
      await raiseNonceFloor(store, held, waiverNonce);
    },
  };
}

/** Counts the blocks that came without the lane's lowest wrapper, since it was first seen or since the last restart. */
function createBlockCount() {
  let waiting: { readonly nonce: bigint; readonly since: bigint } | undefined;
  return {
    blocksWithout(nonce: bigint, block: bigint): bigint {
      if (waiting?.nonce !== nonce) waiting = { nonce, since: block };
      return block - waiting.since;
    },
    restart() {
      waiting = undefined;
    },
  };
}

/**
 * Queues what cannot run where it stands: the sender's nonce before it is neither used nor carried by a wrapper in
 * front, because that one failed or was queued again itself. While a pool keeps such a wrapper, those behind
 * it wait too. But a wrapper that a pool keeps may still land, so only what the node has dropped is queued, with its
 * sender's others behind it.
 * @returns the ids that are not to be sent again.
 */
async function requeueStuck(
  held: HeldLane,
  stale: readonly InFlightSubmission[],
  { store, chain, options, log }: WatchContext,
): Promise<ReadonlySet<string>> {
  if (stale.length === 0) return new Set();
  const all = await findInFlight(store, held, { limit: options.maxInFlight });
  const waiting = new Set(
    (await missingPredecessors(stale, all, chain)).map(({ submission }) => submission.id),
  );
  const candidates = stale.filter(({ id }) => waiting.has(id));
  if (candidates.length === 0) return new Set();
  const known = await chain.knowsTransactions(candidates.map(({ wrapperHash }) => wrapperHash));
  const dropped = candidates.filter((_, i) => !known[i]);
  const stuck = all.filter((other) => dropped.some((first) => isSenderBehind(first, other)));
  const ids = new Set(stuck.map(({ id }) => id));
  const requeued = await requeueMisplaced(held, stuck, "sender gap", { afterMs: 0, store });
  if (requeued.length > 0) {
    log.info({ ids: requeued.map(({ id }) => id) }, "submissions wait for their senders' earlier ones");
  }
  return ids;
}

/** Whether `other` is of the same sender and at the same place in the lane or behind it. */
function isSenderBehind(first: InFlightSubmission, other: InFlightSubmission): boolean {
  return other.waiverNonce >= first.waiverNonce && bytesEqual(other.sender, first.sender);
}

async function rebroadcast(
  held: HeldLane,
  stale: readonly InFlightSubmission[],
  broadcaster: Broadcaster,
): Promise<void> {
  await untilLater(broadcaster.send(held, stale, { isFirst: false }));
}

async function resendSigned(held: HeldLane, broadcaster: Broadcaster): Promise<void> {
  await untilLater(broadcaster.resendSigned(held));
}

/** A later poll sends again the wrappers that the node does not take now. */
async function untilLater(sending: Promise<void>): Promise<void> {
  try {
    await sending;
  } catch (error) {
    if (!(error instanceof NotBroadcastError)) throw error;
  }
}

/** Compares the blocks that are not final yet with the chain: each is still there, deep enough, or gone. */
async function checkBlocks(
  held: HeldLane,
  unfinalized: readonly UnfinalizedSubmission[],
  head: bigint,
  { store, chain, options, log }: WatchContext,
): Promise<void> {
  if (unfinalized.length === 0) return;
  const heights = [...new Set(unfinalized.map(({ blockNumber }) => blockNumber))];
  const hashes = await chain.blockHashes(heights);
  const hashOf = new Map(heights.map((height, i) => [height, hashes[i]]));
  const isThere = ({ blockNumber, blockHash }: UnfinalizedSubmission) => {
    const hash = hashOf.get(blockNumber);
    return hash !== undefined && bytesEqual(hash, blockHash);
  };
  const depth = BigInt(options.reorgDepth);
  const final = unfinalized
    .filter((one) => isThere(one) && head - one.blockNumber >= depth)
    .map(({ id }) => id);
  await saveFinal(store, held, final);
  // A node that is behind does not have the block yet. Only another block in its place counts.
  const reorged = unfinalized.filter((one) => hashOf.get(one.blockNumber) !== undefined && !isThere(one));
  if (reorged.length === 0) return;
  const ids = reorged.map(({ id }) => id);
  log.warn({ ids, head: head.toString() }, "a reorg took blocks away; their submissions are followed again");
  await saveReorged(store, held, ids);
}
