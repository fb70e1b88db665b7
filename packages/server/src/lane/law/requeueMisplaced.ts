import type { ChangedSubmission, HeldLane } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { Store } from "../../store/store.js";
import { saveRequeued } from "../../store/transitions/saveRequeued.js";
import { decide, type Misplacement } from "./law.js";

export interface MisplacedOptions {
  /** The time that they stay in the queue, in ms. */
  readonly afterMs: number;
  readonly store: Store;
  /** Called when some were queued: their nonces are free. */
  readonly onNoncesFreed?: (() => void) | undefined;
}

/**
 * Queues again submissions that cannot land or run where they stand (L10). One with another wrapper by now stays as it is.
 * @returns those that were queued.
 */
export async function requeueMisplaced(
  held: HeldLane,
  submissions: readonly Pick<InFlightSubmission, "id" | "state" | "wrapperHash">[],
  misplaced: Misplacement,
  { afterMs, store, onNoncesFreed }: MisplacedOptions,
): Promise<ChangedSubmission[]> {
  const concerned = submissions.filter(
    ({ state }) => decide({ state, openWrappers: 0, misplaced }).move === "requeue",
  );
  const ids = concerned.map(({ id }) => id);
  const wrapperHashes = concerned.map(({ wrapperHash }) => wrapperHash);
  const isStruck = misplaced === "passed over";
  const requeued = await saveRequeued(store, held, ids, { afterMs, isOpen: true, isStruck, wrapperHashes });
  if (requeued.length > 0) onNoncesFreed?.();
  return requeued;
}
