import type { ChangedSubmission, HeldLane } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { Store } from "../../store/store.js";
import { type RequeueOptions, saveRequeued } from "../../store/transitions/saveRequeued.js";
import { decide, type Misplacement } from "./law.js";

export interface RequeueContext {
  readonly store: Store;
  /** Called when some were queued: their nonces are free. */
  readonly onNoncesFreed?: (() => void) | undefined;
}

export interface MisplacedOptions extends RequeueContext {
  /** The time that they stay in the queue, in ms. */
  readonly afterMs: number;
}

/**
 * Queues again submissions that cannot land or run where they stand (L10).
 * @returns those that were queued.
 */
export async function requeueMisplaced(
  held: HeldLane,
  submissions: readonly Pick<InFlightSubmission, "id" | "state" | "wrapperHash">[],
  misplaced: Misplacement,
  { afterMs, ...context }: MisplacedOptions,
): Promise<ChangedSubmission[]> {
  const concerned = submissions.filter(
    ({ state }) => decide({ state, openWrappers: 0, misplaced }).move === "requeue",
  );
  const isStruck = misplaced === "passed over";
  return await requeue(held, concerned, { afterMs, isOpen: true, isStruck }, context);
}

/**
 * Queues again what the law has decided. A submission with another wrapper by now stays as it is: evidence about one wrapper is
 * none about the next.
 * @returns those that were queued.
 */
export async function requeue(
  held: HeldLane,
  submissions: readonly Pick<InFlightSubmission, "id" | "wrapperHash">[],
  options: Omit<RequeueOptions, "wrapperHashes">,
  { store, onNoncesFreed }: RequeueContext,
): Promise<ChangedSubmission[]> {
  const ids = submissions.map(({ id }) => id);
  const wrapperHashes = submissions.map(({ wrapperHash }) => wrapperHash);
  const requeued = await saveRequeued(store, held, ids, { ...options, wrapperHashes });
  if (requeued.length > 0) onNoncesFreed?.();
  return requeued;
}
