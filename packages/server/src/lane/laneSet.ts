import { bytesEqual, privateKeyToAddress } from "@gas-waiver/protocol";
import { registerLane } from "../store/lanes/lease.js";
import { type Lane, type LaneDependencies, startLane } from "./lane.js";

/** The lanes of the keys that this replica has. */
export interface LaneSet {
  readonly waivers: readonly Uint8Array[];
  /**
   * Starts the lanes of new keys, and stops those whose key is gone: their leases go to whoever else has the key.
   * One call after the other; none after the end.
   */
  setKeys(keys: readonly Uint8Array[]): Promise<void>;
  /** There may be work for these, or for any. */
  wake(waivers?: readonly Uint8Array[]): void;
  /** There is a new block. */
  onNewBlock(): void;
  stop(): Promise<void>;
}

export function createLaneSet(dependencies: LaneDependencies): LaneSet {
  const { store, chainRef } = dependencies;
  let lanes: Lane[] = [];
  let stopped = false;
  const find = (waiver: Uint8Array) => lanes.find((lane) => bytesEqual(lane.waiver, waiver));
  const add = async (key: Uint8Array) => {
    const waiver = privateKeyToAddress(key);
    if (find(waiver)) return;
    await registerLane(store, { chain: chainRef, waiver });
    if (!stopped) lanes.push(startLane(key, dependencies));
  };
  const change = async (keys: readonly Uint8Array[]) => {
    if (stopped) return;
    for (const key of keys) await add(key);
    const wanted = keys.map((key) => privateKeyToAddress(key));
    const gone = lanes.filter(({ waiver }) => !wanted.some((known) => bytesEqual(known, waiver)));
    lanes = lanes.filter((lane) => !gone.includes(lane));
    await Promise.all(gone.map((lane) => lane.stop()));
  };
  // Two lanes of one key in one process would share its lease: a change waits for the one before.
  let changing: Promise<void> = Promise.resolve();
  return {
    get waivers() {
      return lanes.map(({ waiver }) => waiver);
    },
    setKeys(keys) {
      const changed = changing.then(() => change(keys));
      changing = changed.catch(() => {});
      return changed;
    },
    wake(waivers) {
      for (const lane of lanes) if (!waivers || waivers.some((w) => bytesEqual(w, lane.waiver))) lane.wake();
    },
    onNewBlock() {
      for (const lane of lanes) lane.onNewBlock();
    },
    async stop() {
      stopped = true;
      await changing;
      await Promise.all(lanes.map((lane) => lane.stop()));
    },
  };
}
