import type { Store } from "../store.js";
import { type HeldLane, updateLaneAsOwner } from "./heldLane.js";
import { TAKES_WORK } from "./setLaneState.js";

const BROKEN = "broken_until = now() + $5::float8 * interval '1 millisecond', reason = $6";

/**
 * Opens a lane's breaker for `forMs`: no new work goes to the lane. With 0, closes it. A lane that takes no work stays as it
 * is.
 * @throws {@link LeaseLostError}
 */
export async function setBreaker(
  store: Store,
  lane: HeldLane,
  forMs: number,
  reason: string | undefined,
): Promise<void> {
  await updateLaneAsOwner(store, lane, BROKEN, [forMs, reason ?? null], { condition: TAKES_WORK });
}
