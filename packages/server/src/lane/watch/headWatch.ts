import { bytesEqual, decodeTransaction } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import type { WatchContext } from "../context.js";
import { CANDIDATES_PER_BATCH } from "../law/chainOutcomes.js";
import { releaseToOthers, requeueMisplaced } from "../law/requeue.js";
import { missingPredecessors, readSenderTurns } from "../send/senderNonces.js";

interface ChainMoment {
  /** The height of the chain, read before the nonce. */
  readonly block: bigint;
  /** The waiver's next nonce. */
  readonly waiverNonce: bigint;
  /** This process signs for the lane, and may give the nonce to another wrapper. */
  readonly signs: boolean;
}

/** A block with less room is full for everybody. */
const LEAST_ROOM = 100_000n;

/** Follows the head of the lane's line (`send/head.ts`), and withdraws heads that blocks leave out. */
export function createHeadWatch(context: WatchContext) {
  const { store, headOfLine: head, broadcastBuffer, routing } = context;
  let wasUnusable = false;
  return {
    async run(held: HeldLane, { block, waiverNonce, signs }: ChainMoment): Promise<void> {
      const isUnstored = broadcastBuffer.unstored();
      const [first] = await findInFlight(store, held, { from: waiverNonce, limit: 1 });
      const isTaken = first && (first.state === "broadcast" || isUnstored(first));
      const isHead = isTaken === true && first.waiverNonce === waiverNonce;
      // Where nobody signs, whatever is first waits for the nonce.
      const wrapperHash = isHead || !signs ? first?.wrapperHash : undefined;
      head.observe({ block, waiverNonce, wrapperHash });
      const isUnusable = signs && routing.whyUnusable(held.waiver) !== undefined;
      // Blocks left out what a revoked waiver carries, whatever it was.
      if (wasUnusable && !isUnusable) head.pardon();
      wasUnusable = isUnusable;
      // The line does not move, and this lane can give the nonce to no other wrapper: nobody signs, or no block would take one.
      if (signs ? isUnusable && head.isBraked : head.isOver) return await releaseToOthers(held, context);
      if (first === undefined || !isHead || head.passed < 1n) return;
      await pardonAtFullBlock(first, context);
      if (!signs || head.passed < 1n) return;
      const front = await findInFlight(store, held, { from: waiverNonce, limit: CANDIDATES_PER_BATCH });
      await withdrawStuck(held, first, await findStuck(front, context), context);
      if (head.isOver) await withdrawPassed(held, first, context);
    },
  };
}

/** Wrappers of the line that stand in the way of those behind. Each would stop the line anew once it is the head. */
interface Stuck {
  /** Their senders' nonces are used: they can land no more. */
  readonly dead: readonly InFlightSubmission[];
  /** Nothing in front of them carries the next nonce of their sender: they cannot run here. */
  readonly gaps: readonly InFlightSubmission[];
}

/** Finds what two polls show as stuck: one node may be ahead of the one that told the waiver's nonce, or behind it. */
async function findStuck(
  front: readonly InFlightSubmission[],
  { chain, entries }: Pick<WatchContext, "chain" | "entries">,
): Promise<Stuck> {
  const next = await readSenderTurns(front, chain);
  const isSeenAgain = (one: InFlightSubmission) => !entries.isFirst(one, "stuck");
  const dead = front.filter(({ sender, senderNonce }) => senderNonce < (next(sender) ?? 0n));
  const gaps = missingPredecessors(next, front).map(({ submission }) => submission);
  return { dead: dead.filter(isSeenAgain), gaps: gaps.filter(isSeenAgain) };
}

/**
 * A block without room for the head has not passed it over. Where the nonce stands still, a block with room for others has: a large
 * wrapper may never find room.
 */
async function pardonAtFullBlock(
  { wrapperRaw }: InFlightSubmission,
  { chain, headOfLine }: Pick<WatchContext, "chain" | "headOfLine">,
): Promise<void> {
  const room = await chain.head().then(
    (head) => head.room,
    () => undefined,
  );
  if (room === undefined) return;
  const { gasLimit } = decodeTransaction(wrapperRaw);
  const needed = headOfLine.isBraked && gasLimit > LEAST_ROOM ? LEAST_ROOM : gasLimit;
  if (room < needed) headOfLine.pardon();
}

/** Withdraws what is stuck. A sender whose earlier nonce is missing here has perhaps done nothing for it, and gets no strike. */
async function withdrawStuck(
  held: HeldLane,
  first: InFlightSubmission,
  { dead, gaps }: Stuck,
  context: WatchContext,
): Promise<void> {
  const withdrawn = await requeueMisplaced(held, dead, "dead", context);
  if (withdrawn.length > 0) onLeftOut(dead, context);
  const waiting = await requeueMisplaced(held, gaps, "sender gap", context);
  const ids = [...withdrawn, ...waiting].map(({ id }) => id);
  if (ids.length === 0) return;
  context.log.info({ ids }, "the nonces of these wrappers go to others: they can land or run no more there");
  if (ids.includes(first.id)) context.headOfLine.onWithdrawn();
}

async function withdrawPassed(
  held: HeldLane,
  first: InFlightSubmission,
  context: WatchContext,
): Promise<void> {
  const { id, waiverNonce } = first;
  const { store, headOfLine, log, options } = context;
  // The sender's later ones cannot run before it.
  const all = await findInFlight(store, held, { from: waiverNonce, limit: options.maxInFlight });
  const behind = all.filter((one) => one.id !== id && bytesEqual(one.sender, first.sender));
  log.warn(
    { id, nonce: String(waiverNonce), blocks: String(headOfLine.passed) },
    "blocks leave out a wrapper that a node has taken; its nonce goes to another",
  );
  const withdrawn = await requeueMisplaced(held, [first], "passed over", context);
  onLeftOut([first], context);
  if (withdrawn.length > 0) headOfLine.onWithdrawn();
  await requeueMisplaced(held, behind, "sender gap", context);
}

function onLeftOut(
  submissions: readonly InFlightSubmission[],
  { strikes, struckTurn }: Pick<WatchContext, "strikes" | "struckTurn">,
): void {
  for (const one of submissions) {
    if (strikes.isStruck(one)) struckTurn.onLeftOut();
    strikes.strike(one);
  }
}
