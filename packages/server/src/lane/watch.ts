import { bytesEqual } from "@gas-waiver/protocol";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { findCandidatesBelow, findInFlight, type InFlightSubmission } from "../store/lanes/inFlight.js";
import { findUnfinalized, type UnfinalizedSubmission } from "../store/lanes/unfinalized.js";
import { saveFinal } from "../store/transitions/saveFinal.js";
import { saveReorged } from "../store/transitions/saveReorged.js";
import { saveRequeued } from "../store/transitions/saveRequeued.js";
import { type Broadcaster, NotBroadcastError } from "./broadcaster.js";
import type { LaneContext } from "./lane.js";
import { RECEIPT_BATCH, reconcile } from "./reconcile.js";
import { missingPredecessors } from "./senderGaps.js";

/** Follows the chain for one lane. */
export interface Watcher {
  /** Looks at the chain once. */
  poll(held: HeldLane): Promise<void>;
}

/** Submissions that are settled at once: two requests to the node. */
const BATCH = 2 * RECEIPT_BATCH;
/** Blocks that pass the lane's lowest wrapper over before it is sent again: the pool may have forgotten it. */
const PASSED_OVER = 2n;

/**
 * Settles what the waiver's nonce has passed; sends again what waits too long for a block, as a pool may forget;
 * and notices when a block with something of ours goes away.
 */
export function createWatcher(dependencies: LaneContext, delivery: Broadcaster): Watcher {
  const { store, chain, options } = dependencies;
  // The lowest waiver nonce that waits, and the block since which it does.
  let waiting: { nonce: bigint; since: bigint } | undefined;
  const isPassedOver = (nonce: bigint, block: bigint) => {
    if (waiting?.nonce !== nonce) waiting = { nonce, since: block };
    return block - waiting.since >= PASSED_OVER;
  };
  /** As many as there are: a busy lane has more than one batch in a block. */
  const settlePassed = async (held: HeldLane, waiverNonce: bigint) => {
    let last: string | undefined;
    for (;;) {
      const passed = await findCandidatesBelow(store, held, waiverNonce, BATCH);
      await reconcile(held, passed, dependencies);
      // What could not be settled yet comes first again.
      if (passed.length < BATCH || passed[0]?.id === last) return;
      last = passed[0]?.id;
    }
  };
  const sendAgain = async (held: HeldLane, block: bigint, waiverNonce: bigint) => {
    const [lowest] = await findInFlight(store, held, { state: "broadcast", limit: 1 });
    const forgotten = lowest?.waiverNonce === waiverNonce && isPassedOver(waiverNonce, block);
    const late = forgotten ? {} : { sentBeforeMs: options.resendAfterMs };
    const again = await findInFlight(store, held, { state: "broadcast", ...late, limit: BATCH });
    if (forgotten) waiting = undefined;
    const stuck = await takeBackStuck(held, again, dependencies);
    await deliverAgain(
      held,
      again.filter(({ id }) => !stuck.has(id)),
      delivery,
    );
  };
  return {
    async poll(held) {
      const inBlocks = options.reorgDepth > 0 ? await findUnfinalized(store, held, BATCH) : [];
      const [first] = await findInFlight(store, held, { limit: 1 });
      if (first === undefined && inBlocks.length === 0) return;
      const block = await chain.blockNumber();
      await checkBlocks(held, inBlocks, block, dependencies);
      if (first === undefined) return;
      const [waiverNonce = 0n] = await chain.nonces([held.waiver]);
      await settlePassed(held, waiverNonce);
      await sendAgain(held, block, waiverNonce);
    },
  };
}

/**
 * Takes back what cannot run where it stands: the sender's nonce before it is neither used nor carried by a wrapper
 * in front (it failed, or was taken back itself). A queueing pool would hold its wrapper again and again, and with
 * it everything behind. Only what the node has dropped is taken back: the wrapper must not land after all.
 */
async function takeBackStuck(
  held: HeldLane,
  stale: readonly InFlightSubmission[],
  { store, chain, options, log }: LaneContext,
): Promise<ReadonlySet<string>> {
  if (stale.length === 0) return new Set();
  const inFront = await findInFlight(store, held, { limit: options.maxInFlight });
  const waiting = new Set(
    (await missingPredecessors(stale, inFront, chain)).map(({ submission }) => submission.id),
  );
  const candidates = stale.filter(({ id }) => waiting.has(id));
  if (candidates.length === 0) return new Set();
  const known = await chain.knowsTransactions(candidates.map(({ wrapperHash }) => wrapperHash));
  const dropped = candidates.filter((_, i) => !known[i]);
  const ids = new Set(
    dropped.flatMap((first) => inFront.filter((other) => isBehind(first, other)).map(({ id }) => id)),
  );
  const stuck = await saveRequeued(store, held, [...ids], 0);
  if (stuck.length > 0) {
    log.info({ ids: stuck.map(({ id }) => id) }, "submissions wait for their senders' earlier ones");
  }
  return ids;
}

/** Of the same sender, at its place in the lane or behind it: they come back together, in their order. */
function isBehind(first: InFlightSubmission, other: InFlightSubmission): boolean {
  return other.waiverNonce >= first.waiverNonce && bytesEqual(other.sender, first.sender);
}

async function deliverAgain(
  held: HeldLane,
  again: readonly InFlightSubmission[],
  delivery: Broadcaster,
): Promise<void> {
  try {
    await delivery.send(held, again);
  } catch (error) {
    // What cannot be delivered now is sent again on a later look.
    if (!(error instanceof NotBroadcastError)) throw error;
  }
}

/** Blocks that are not final yet: still there, deep enough, or gone. */
async function checkBlocks(
  held: HeldLane,
  inBlocks: readonly UnfinalizedSubmission[],
  head: bigint,
  { store, chain, options, log }: LaneContext,
): Promise<void> {
  if (inBlocks.length === 0) return;
  const heights = [...new Set(inBlocks.map(({ blockNumber }) => blockNumber))];
  const hashes = await chain.blockHashes(heights);
  const hashOf = new Map(heights.map((height, i) => [height, hashes[i]]));
  const isThere = ({ blockNumber, blockHash }: UnfinalizedSubmission) => {
    const hash = hashOf.get(blockNumber);
    return hash !== undefined && bytesEqual(hash, blockHash);
  };
  const depth = BigInt(options.reorgDepth);
  const deep = inBlocks.filter((s) => isThere(s) && head - s.blockNumber >= depth).map(({ id }) => id);
  await saveFinal(store, held, deep);
  // A node that is behind does not have the block yet: only another block in its place counts.
  const gone = inBlocks.filter((s) => hashOf.get(s.blockNumber) !== undefined && !isThere(s));
  if (gone.length === 0) return;
  const ids = gone.map(({ id }) => id);
  log.warn({ ids, head: head.toString() }, "a reorg took blocks away; their submissions are followed again");
  await saveReorged(store, held, ids);
}
