import type { ChangedSubmission, HeldLane } from "../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../store/lanes/inFlight.js";
import type { Store } from "../store/store.js";
import { saveRequeued } from "../store/transitions/saveRequeued.js";
import { decide, type Misplacement } from "./law.js";

/**
 * Queues again what cannot land or run where it stands (L10). What has another wrapper by now stays.
 * @param afterMs the time that they stay in the queue.
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
