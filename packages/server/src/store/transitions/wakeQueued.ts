import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";

/**
 * Ends the pauses of queued submissions.
 * @throws {@link LeaseLostError}
 */
export function wakeQueued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    ` update unfinished set look_at = now()
     where id = any($5::uuid[]) and state = 'queued' and is_waiting and look_at > now() and ${LEASE_IS_HELD}
     returning id, origin`,
  );
}
