import type { Store } from "../store.js";
import { type HeldLane, updateLaneAsOwner } from "./heldLane.js";

/** The count restarts if the last foreign use is older than this. */
export const FOREIGN_USE_MEMORY = "24 hours";

const COUNTED = `foreign_use_at = now(),
  foreign_uses = 1 + case when foreign_use_at > now() - interval '${FOREIGN_USE_MEMORY}' then foreign_uses else 0 end`;

/**
 * Counts a use of the waiver's nonces by something else.
 * @returns the number of such uses, each at most a day after the one before.
 * @throws {@link LeaseLostError}
 */
export async function countForeignUse(store: Store, lane: HeldLane): Promise<number> {
  const changed = await updateLaneAsOwner<{ foreign_uses: number }>(store, lane, COUNTED, []);
  return changed?.foreign_uses ?? 0;
}
