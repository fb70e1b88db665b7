import { findLaneStatuses, type LaneStatus } from "../store/lanes/laneStatus.js";
import type { Store } from "../store/store.js";

/** The lanes of all replicas as the store had them at the last refresh. */
export interface LaneStatusCache {
  readonly lanes: readonly LaneStatus[];
  /** Reads the store. Returns false if a later refresh has already brought newer lanes. */
  refresh(): Promise<boolean>;
}

export function createLaneStatusCache(store: Store, chainRef: number): LaneStatusCache {
  let lanes: readonly LaneStatus[] = [];
  let begun = 0;
  let newest = 0;
  return {
    get lanes() {
      return lanes;
    },
    async refresh() {
      const turn = ++begun;
      const fresh = await findLaneStatuses(store, chainRef);
      if (turn < newest) return false;
      newest = turn;
      lanes = fresh;
      return true;
    },
  };
}
