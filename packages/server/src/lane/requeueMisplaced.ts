import type { ChangedSubmission, HeldLane } from "../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../store/lanes/inFlight.js";
import type { Store } from "../store/store.js";
import { saveRequeued } from "../store/transitions/saveRequeued.js";
import { decide, type Misplacement } from "./law.js";

/**
 * Queues again submissions that cannot land or run where they stand (L10). One with another wrapper by now stays as it is.
 * @param afterMs the time that they stay in the queue, in ms.
 * @returns those that were queued.
 */
export async function requeueMisplaced(
  held: HeldLane,
  submissions: readonly Pick<InFlightSubmission, "id" | "state" | "wrapperHash">[],
  misplaced: Misplacement,
  { afterMs, store }: { readonly afterMs: number; readonly store: Store },
): Promise<ChangedSubmission[]> {
  const requeued = submissions.filter(
    ({ state }) => decide({ state, openWrappers: 0, misplaced }).move === "requeue",
  );
  const ids = requeued.map(({ id }) => id);
  const wrapperHashes = requeued.map(({ wrapperHash }) => wrapperHash);
  return saveRequeued(store, held, ids, { afterMs, isOpen: true, wrapperHashes });
}
