import { randomUUID } from "node:crypto";
import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { LaneStatus } from "../../store/lanes/laneStatus.js";
import type { Store } from "../../store/store.js";
import type { Schedule } from "../../util/schedule.js";
import type { LaneStatusCache } from "../choose/directory.js";
import type { LaneDependencies } from "../context.js";
import { createLeaseKeeper, type LeaseKeeper } from "../own/lease.js";
import { createBroadcaster } from "../send/broadcaster.js";
import { createWatchMemory, LaneWatch } from "./watch.js";

export type Caretaker = ReturnType<typeof startCaretaker>;

export interface CaretakerDependencies extends LaneDependencies {
  /** The store with the connections of the leases. */
  readonly leaseStore: Store;
  readonly schedule: Schedule;
  /** Whether this replica has the waiver's account: its lane is about to take the lease by itself. */
  isOwn(waiver: Uint8Array): boolean;
  readonly statuses: Pick<LaneStatusCache, "onRefresh">;
}

/** Whether the store has moved is asked for such lanes once in this time, in ms. */
const UNOWNED_CHECK_MS = 10_000;

/** Nobody sends new work to such a lane, so it needs no breaker. */
const BREAKER = { succeed: async () => {}, open: async () => {}, avoid: async () => {} };

/**
 * Watches the lanes that no replica signs for: retired ones, and those whose key no replica has. A replica with the key may take over
 * these leases at once. After a failover, each of them may have wrappers on the chain that the store has forgotten, but for retired ones:
 * a store that has the retirement has all that was signed before it.
 */
export function startCaretaker(dependencies: CaretakerDependencies) {
  const { statuses, leaseStore, chainRef } = dependencies;
  const owner = { store: leaseStore, chain: chainRef, owner: randomUUID(), watchOnly: true };
  const leases = createLeaseKeeper({ ...dependencies, ...owner });
  const watched = new Map<Hex, UnsignedLane>();
  let isClosed = false;
  let mayHaveForgotten = false;
  statuses.onRefresh((all) => {
    const unowned = isClosed ? [] : all.filter((status) => isUnowned(status, dependencies));
    if (unowned.some(({ state }) => state !== "retired"))
      dependencies.store.moves.hasMoved(UNOWNED_CHECK_MS).then(
        (hasMoved) => {
          mayHaveForgotten = hasMoved;
        },
        () => {},
      );
    const unwatched = unowned.filter(
      (status) => isUnfinished(status) || (mayHaveForgotten && status.state !== "retired"),
    );
    const names = new Set(unwatched.map(({ waiver }) => bytesToHex(waiver)));
    for (const status of unwatched) {
      const name = bytesToHex(status.waiver);
      const lane = watched.get(name) ?? watchUnsigned(status.waiver, leases, dependencies);
      watched.set(name, lane);
      lane.onStatus(status);
    }
    // A lane that is unwatched again waits until its watch has ended.
    for (const [name, lane] of watched)
      if (!names.has(name)) void lane.end().then(() => watched.delete(name));
  });
  return {
    flush: () => Promise.all([...watched.values()].map((lane) => lane.flush())),
    async close(): Promise<void> {
      isClosed = true;
      await Promise.all([...watched.values()].map((lane) => lane.end()));
      leases.close();
    },
  };
}

function isUnowned(
  { owner, waiver, state }: LaneStatus,
  { isOwn }: Pick<CaretakerDependencies, "isOwn">,
): boolean {
  // A lane takes its own lease if this replica has its account, unless the lane is retired.
  return owner === undefined && (!isOwn(waiver) || state === "retired");
}

/** Something may still happen to the lane's wrappers on the chain. */
function isUnfinished({ inFlight, hasUnfinalized, hasOpenWrapper }: LaneStatus): boolean {
  return inFlight > 0 || hasUnfinalized || hasOpenWrapper;
}

type UnsignedLane = ReturnType<typeof watchUnsigned>;

/** Watches a lane in which nobody signs. */
function watchUnsigned(waiver: Uint8Array, leases: LeaseKeeper, dependencies: CaretakerDependencies) {
  const log = dependencies.log.child({ waiver: bytesToHex(waiver) });
  const hooks = { onLaneStopped: () => {}, onFollowing: () => {} };
  const memory = createWatchMemory(dependencies);
  const context = { ...dependencies, ...memory, ...hooks, log, mode: "sends" as const };
  log.warn("no replica signs for this lane; its wrappers are followed to their end");
  const lease = leases.keep(waiver, () => watch.follow());
  const watch = new LaneWatch(lease, createBroadcaster({ ...context, breaker: BREAKER }), context);
  let ended: Promise<void> | undefined;
  const end = async () => {
    await watch.close();
    await memory.broadcastBuffer.close();
    await lease.release();
  };
  return {
    onStatus(status: LaneStatus) {
      watch.onStatus(status);
      watch.onNewBlock();
    },
    flush: () => memory.broadcastBuffer.flush(),
    end: () => (ended ??= end()),
  };
}
