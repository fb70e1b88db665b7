import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { WatchContext } from "../context.js";
import { decide } from "../law/law.js";
import { requeueMisplaced } from "../law/requeueMisplaced.js";
import { type AnsweredBroadcast, submissionOf } from "./answered.js";
import type { SenderGaps } from "./senderGaps.js";

export interface Settled {
  /** Those that are neither broadcast nor queued again. */
  readonly left: readonly AnsweredBroadcast[];
  /** The ids of those that a node has, while other answers leave open whether they can run. */
  readonly undecided: ReadonlySet<string>;
}

const BLOCKED_MS = 250;

/**
 * Counts the wrappers that a node has as broadcast (L5), but for those behind a nonce of their sender that no node has: these
 * are queued again (L10).
 * @param shown the ids of those that a node shows, whatever it answered.
 */
export async function settleTaken(
  held: HeldLane,
  answered: readonly AnsweredBroadcast[],
  shown: ReadonlySet<string>,
  { senderGaps }: { readonly senderGaps: SenderGaps },
  { store, broadcastBuffer, onNoncesFreed }: WatchContext,
): Promise<Settled> {
  const { blocked, undecided } = await senderGaps.classify(answered, shown);
  const isTaken = ({ submission: { id, state }, answer }: AnsweredBroadcast) =>
    shown.has(id) || decide({ state, openWrappers: 0, answer }).move === "broadcast";
  const isRunnable = (one: AnsweredBroadcast) => isTaken(one) && !undecided.has(one.submission.id);
  const free = answered.filter(({ submission: { id } }) => !blocked.has(id));
  broadcastBuffer.add(held, free.filter(isRunnable).map(submissionOf));
  const cannotRun = answered.map(submissionOf).filter(({ id }) => blocked.has(id));
  await requeueMisplaced(held, cannotRun, "sender gap", { afterMs: BLOCKED_MS, store, onNoncesFreed });
  return { left: free.filter((one) => !isRunnable(one)), undecided };
}

/**
 * Finds the wrappers that the node shows (L5). A strict pool that holds a wrapper expects the next nonce, and may call the
 * nonce of the same bytes too low.
 */
export async function findShown(
  submissions: readonly InFlightSubmission[],
  { chain }: Pick<WatchContext, "chain">,
): Promise<ReadonlySet<string>> {
  if (submissions.length === 0) return new Set();
  const presences = await chain.lookUp(submissions.map(({ wrapperHash }) => wrapperHash));
  const shown = submissions.filter(({ state }, i) => {
    const presence = presences[i];
    return presence && decide({ state, openWrappers: 0, presence }).move === "broadcast";
  });
  return new Set(shown.map(({ id }) => id));
}
