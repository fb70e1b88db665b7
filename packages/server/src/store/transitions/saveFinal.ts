import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { finishStatement } from "./finishStatement.js";

/**
 * Moves included submissions to `finished`: no reorg can take their blocks away any more.
 * @throws {@link LeaseLostError}
 */
export function saveFinal(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(store, lane, ids, FINAL);
}

const FINAL = finishStatement(
  `where s.id = any($5::uuid[]) and s.state = 'included' and ${LEASE_IS_HELD} returning s.*`,
  {},
);
