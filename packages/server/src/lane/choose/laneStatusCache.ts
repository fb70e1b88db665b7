import { findLaneStatuses, type LaneReading, type LaneStatus } from "../../store/lanes/laneStatus.js";
import type { Store } from "../../store/store.js";

/** The lanes of all replicas as the store had them at the last refresh. */
export interface LaneStatusCache {
  readonly lanes: readonly LaneReading[];
  /** The time of the last refresh that succeeded, by the monotonic clock in ms. */
  readonly refreshedAt: number;
  /** Reads the store. Returns false if a later refresh has already brought newer lanes. */
  refresh(): Promise<boolean>;
  /** Calls the listener with the lanes after each refresh. */
  onRefresh(listener: (lanes: readonly LaneStatus[]) => void): void;
}

export function createLaneStatusCache(store: Store, chainRef: number): LaneStatusCache {
  const { laneFloors } = store;
  const listeners: ((lanes: readonly LaneStatus[]) => void)[] = [];
  let lanes: readonly LaneReading[] = [];
  let begun = 0;
  let newest = 0;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  return {
    get lanes() {
      return lanes;
    },
    get refreshedAt() {
      return refreshedAt;
    },
    async refresh() {
      const turn = ++begun;
      const startedAt = performance.now();
      const isFull = laneFloors.isFullDue(startedAt);
      const fresh = await findLaneStatuses(store, chainRef, isFull ? [] : laneFloors.all);
      refreshedAt = performance.now();
      if (turn < newest) return false;
      newest = turn;
      lanes = fresh;
      laneFloors.replace(lanes, { isFull, startedAt, tookMs: refreshedAt - startedAt });
      for (const listener of listeners) listener(lanes);
      return true;
    },
    onRefresh(listener) {
      listeners.push(listener);
    },
  };
}
