import { bytesEqual, decodeTransaction } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { WatchContext } from "../context.js";
import { requeueMisplaced } from "../law/requeueMisplaced.js";
import { readSenderTurns } from "../send/senderGaps.js";
import { setAsidePauseMs } from "../send/setAside.js";

/** Follows the head of the lane's line (`send/head.ts`), and withdraws heads that blocks leave out. */
export interface HeadWatch {
  run(held: HeldLane, moment: ChainMoment): Promise<void>;
}

export interface ChainMoment {
  /** The height of the chain, read before the nonce. */
  readonly block: bigint;
  /** The waiver's next nonce. */
  readonly waiverNonce: bigint;
  /** This process signs for the lane, and may give the nonce to another wrapper. */
  readonly signs: boolean;
}

/** The wrappers at the front of a late line whose senders' nonces are read. */
const FRONT = 16;
/** The polls in a row that must show a sender's nonce past: one node may be ahead of the one that told the waiver's. */
const DEAD_POLLS = 2;
/** The pause of a submission whose wrapper can land no more. The chain then tells who has used its nonce. */
const DEAD_MS = 250;

export function createHeadWatch(context: WatchContext): HeadWatch {
  const { store, headOfLine: head, broadcastBuffer } = context;
  const findDead = createDeadSearch(context);
  return {
    async run(held, { block, waiverNonce, signs }) {
      const unstored = broadcastBuffer.unstored();
      const [first] = await findInFlight(store, held, { from: waiverNonce, limit: 1 });
      const isTaken = first && (first.state === "broadcast" || unstored.has(first.id));
      const isHead = isTaken === true && first.waiverNonce === waiverNonce;
      // Where nobody signs, whatever is first waits for the nonce.
      const wrapperHash = isHead || !signs ? first?.wrapperHash : undefined;
      head.observe({ block, waiverNonce, wrapperHash });
      if (first === undefined || !isHead || head.passed < 1n) return;
      await pardonAtFullBlock(first, context);
      if (!signs || head.passed < 1n) return;
      const front = await findInFlight(store, held, { from: waiverNonce, limit: FRONT });
      await withdrawDead(held, first, await findDead(front), context);
      if (head.isOver) await withdrawPassed(held, first, context);
    },
  };
}

/** Finds wrappers whose own nonce is not used though their sender's is: they can land no more. */
function createDeadSearch({ chain }: Pick<WatchContext, "chain">) {
  let dying = new Map<string, number>();
  const keyOf = ({ id, signings }: InFlightSubmission) => `${id} ${signings}`;
  return async (front: readonly InFlightSubmission[]) => {
    const turns = await readSenderTurns(front, chain);
    const past = front.filter(({ sender, senderNonce }) => senderNonce < turns.of(sender));
    dying = new Map(past.map((one) => [keyOf(one), (dying.get(keyOf(one)) ?? 0) + 1]));
    return past.filter((one) => (dying.get(keyOf(one)) ?? 0) >= DEAD_POLLS);
  };
}

async function pardonAtFullBlock(
  { wrapperRaw }: InFlightSubmission,
  { chain, headOfLine }: Pick<WatchContext, "chain" | "headOfLine">,
): Promise<void> {
  const { room } = await chain.head();
  if (room !== undefined && room < decodeTransaction(wrapperRaw).gasLimit) headOfLine.pardon();
}

async function withdrawDead(
  held: HeldLane,
  first: InFlightSubmission,
  dead: readonly InFlightSubmission[],
  context: WatchContext,
): Promise<void> {
  const options = { ...context, afterMs: DEAD_MS };
  const withdrawn = await requeueMisplaced(held, dead, "dead", options);
  if (withdrawn.length === 0) return;
  const ids = withdrawn.map(({ id }) => id);
  context.log.info({ ids }, "the nonces of these wrappers go to others: they can land no more");
  onLeftOut(dead, context);
  if (ids.includes(first.id)) context.headOfLine.onWithdrawn();
}

async function withdrawPassed(
  held: HeldLane,
  first: InFlightSubmission,
  context: WatchContext,
): Promise<void> {
  const { id, signings, waiverNonce } = first;
  const { store, headOfLine, log, options } = context;
  // The sender's later ones cannot run before it.
  const all = await findInFlight(store, held, { from: waiverNonce, limit: options.maxInFlight });
  const behind = all.filter((one) => one.id !== id && bytesEqual(one.sender, first.sender));
  const afterMs = setAsidePauseMs(signings);
  log.warn(
    { id, nonce: String(waiverNonce), blocks: String(headOfLine.passed) },
    "blocks leave out a wrapper that a node has taken; its nonce goes to another",
  );
  const withdrawn = await requeueMisplaced(held, [first], "passed over", { ...context, afterMs });
  onLeftOut([first], context);
  if (withdrawn.length > 0) headOfLine.onWithdrawn();
  await requeueMisplaced(held, behind, "sender gap", { ...context, afterMs });
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
