import { bytesEqual } from "@gas-waiver/protocol";
import { findUnfinalized, type UnfinalizedSubmission } from "../../store/lanes/blocks/inclusions.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight } from "../../store/lanes/nonces/inFlight.js";
import { raiseNonceFloor } from "../../store/lanes/nonces/nonceFloor.js";
import { saveFinal } from "../../store/transitions/saveFinal.js";
import { saveReorged } from "../../store/transitions/saveReorged.js";
import type { WatchContext } from "../context.js";
import { CANDIDATES_PER_BATCH } from "../law/chainOutcomes.js";
import { NotBroadcastError } from "../send/applyAnswers.js";
import type { Broadcaster } from "../send/broadcaster.js";
import { createDoubts } from "./doubts.js";
import { createHeadWatch } from "./headWatch.js";

/**
 * - `signs`: this process signs and sends for the lane.
 * - `sends`: nobody signs for the lane. Its stored wrappers go out again.
 * - `silent`: nobody signs for the lane, and nothing may be sent: it is stopped.
 *
 * Where nobody signs, another lane gets the submissions that blocks leave out (L10).
 */
export type WatchMode = "signs" | "sends" | "silent";

export type Watcher = ReturnType<typeof createWatcher>;

/**
 * The store's floor of the waiver's nonces is raised after so many. Where blocks are final late, the floor stays far below the chain's
 * nonce, and each attempt locks the lane's row against its writes.
 */
const NONCES_PER_RAISE = 500n;

/**
 * Follows the chain for one lane: reconciles the submissions below the waiver's nonce, sends again those whose wrapper waits too long
 * for a block, and notices when a reorg removes a block with one of the lane's submissions.
 * @param onNews called when doubts have begun, or proofs were found.
 */
export function createWatcher(
  context: WatchContext,
  broadcaster: Broadcaster,
  onNews: () => void = () => {},
) {
  const { store, chain, options } = context;
  const doubts = createDoubts(context, onNews);
  const headWatch = createHeadWatch(context);
  let raiseAt = 0n;
  /**
   * Compares the lane with the chain once.
   * @returns whether something of the lane is in flight, or in a block that is not final.
   */
  const poll = async (held: HeldLane, mode: WatchMode = "signs"): Promise<boolean> => {
    const blockFloor = context.store.laneFloors.of(held.waiver)?.blockFloor;
    const unfinalized =
      options.reorgDepth > 0 ? await findUnfinalized(store, held, CANDIDATES_PER_BATCH, blockFloor) : [];
    const [first] = await findInFlight(store, held, { limit: 1 });
    const { headOfLine } = context;
    const { isFree } = headOfLine;
    if (first === undefined && !isFree) headOfLine.forget();
    if (first === undefined && unfinalized.length === 0 && !isFree) return false;
    const block = await chain.blockNumber();
    await checkBlocks(held, unfinalized, block, context);
    if (first === undefined && !isFree) return true;
    const [waiverNonce = 0n] = await chain.nonces([held.waiver]);
    await doubts.follow(held, waiverNonce);
    if (waiverNonce >= raiseAt) {
      await raiseNonceFloor(store, held, waiverNonce);
      raiseAt = waiverNonce + NONCES_PER_RAISE;
    }
    if (mode === "sends") await untilLater(broadcaster.resendSigned(held));
    await headWatch.run(held, { block, waiverNonce, signs: mode === "signs" });
    await settleOverdue(held, waiverNonce, mode, context, broadcaster);
    return true;
  };
  return { poll, doubts };
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
  const hashOf = new Map(
    heights.map((height, i) => [height, hashes[i] === "unclear" ? undefined : hashes[i]]),
  );
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

/** Sends the lane's wrappers that wait too long for a block again, the same bytes. */
export async function settleOverdue(
  held: HeldLane,
  waiverNonce: bigint,
  mode: WatchMode,
  context: WatchContext,
  broadcaster: Broadcaster,
): Promise<void> {
  const { store, chain, options, broadcastBuffer, headOfLine } = context;
  const areAllStale = headOfLine.takeLoss();
  if (areAllStale) await broadcastBuffer.flush();
  if (mode === "silent") return;
  const stale = await findInFlight(store, held, {
    ...{ state: "broadcast", from: waiverNonce, limit: CANDIDATES_PER_BATCH },
    ...(areAllStale ? {} : { sentBeforeMs: options.resendAfterMs }),
  });
  if (stale.length === 0) return;
  // The node that takes the lane's wrappers may be the one that loses them.
  if (areAllStale) void chain.sendToOthers(stale);
  await untilLater(broadcaster.send(held, stale));
}

/** Waits for a send. A later poll sends again the wrappers that the node does not take now. */
export async function untilLater(sending: Promise<void>): Promise<void> {
  try {
    await sending;
  } catch (error) {
    if (!(error instanceof NotBroadcastError)) throw error;
  }
}
