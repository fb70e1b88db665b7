import type { LaneWait } from "../../model/submission/waitCauses.js";
import type { Store } from "../store.js";
import { type HeldLane, updateLaneAsOwner } from "./heldLane.js";

/**
 * Stores what the lane waits for, for every replica to tell; nothing if undefined.
 * @param forMs the time that it has waited.
 * @throws {@link LeaseLostError}
 */
export async function saveLaneWait(
  store: Store,
  lane: HeldLane,
  wait: LaneWait | undefined,
  forMs: number,
): Promise<void> {
  const since = "now() - $7::float8 * interval '1 millisecond'";
  const changes = `waits_cause = $5, waits_for = $6, waits_since = case when $5::text is not null then ${since} end`;
  await updateLaneAsOwner(store, lane, changes, [wait?.cause ?? null, wait?.sentence ?? null, forMs]);
}
