import { randomUUID } from "node:crypto";
import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { LaneStatus } from "../../store/lanes/laneStatus.js";
import { type Lease, releaseLease, takeLease } from "../../store/lanes/lease.js";
import { createVisits, type Look, type Schedule } from "../../util/schedule.js";
import type { LaneStatusCache } from "../choose/directory.js";
import { type LaneDependencies, logFailure } from "../context.js";
import { createBroadcaster } from "../send/broadcaster.js";
import { createWatchMemory, LaneWatch } from "./watchLane.js";

/** Watches the lanes that no replica signs for: retired ones, and those whose key no replica has. */
export interface Caretaker {
  close(): Promise<void>;
}

export interface CaretakerDependencies extends LaneDependencies {
  readonly schedule: Schedule;
  /** Whether this replica has the waiver's account: its lane is about to take the lease by itself. */
  isOwn(waiver: Uint8Array): boolean;
  readonly statuses: Pick<LaneStatusCache, "lanes">;
}

const ROUND_MS = 1_000;
/** Nobody sends new work to such a lane, so it needs no breaker. */
const BREAKER = { succeed: async () => {}, open: async () => {}, avoid: async () => {} };

/**
 * Starts to watch the lanes without an owner. In each round of a lane it takes the lane's lease, lets the lane's watch look
 * once, and gives the lease back to be free for a replica with the key.
 */
export function startCaretaker(dependencies: CaretakerDependencies): Caretaker {
  const { statuses, schedule } = dependencies;
  const owner = randomUUID();
  const visits = new Map<Hex, Look>();
  let unwatched: ReadonlyMap<Hex, LaneStatus> = new Map();
  const round = async () => {
    const found = statuses.lanes.filter((status) => isUnwatched(status, dependencies));
    unwatched = new Map(found.map((status) => [bytesToHex(status.waiver), status]));
    for (const [name, { waiver }] of unwatched) {
      if (visits.has(name)) continue;
      const visit = createVisit({ waiver, owner }, dependencies);
      visits.set(
        name,
        schedule.look(() => visit(unwatched.get(name)), 0),
      );
    }
    for (const [name, visit] of visits) {
      if (!unwatched.has(name)) void visit.end().then(() => visits.delete(name));
    }
    return ROUND_MS;
  };
  const rounds = schedule.look(round, 0);
  return {
    async close() {
      await rounds.end();
      await Promise.all([...visits.values()].map((visit) => visit.end()));
    },
  };
}

/** Nobody owns the lane, and something may still happen to its wrappers on the chain. */
function isUnwatched(
  { owner, waiver, state, inFlight, hasUnfinalized, hasOpenWrapper }: LaneStatus,
  { isOwn }: Pick<CaretakerDependencies, "isOwn">,
): boolean {
  // A lane takes its own lease if this replica has its account, unless the lane is retired.
  if (owner !== undefined || (isOwn(waiver) && state !== "retired")) return false;
  return inFlight > 0 || hasUnfinalized || hasOpenWrapper;
}

/** Renews the lease of a visit, which may take longer than a lease. If the lease is lost all the same, the visit's writes fail. */
function startRenewing({ lane }: Lease, { store, options, log, schedule }: CaretakerDependencies): Look {
  const everyMs = options.leaseMs / 3;
  const renew = async () => {
    await takeLease(store, lane, options.leaseMs, { watchOnly: true }).catch((error: unknown) =>
      logFailure(log, error, "caretaker"),
    );
    return everyMs;
  };
  return schedule.look(renew, everyMs);
}

/** Makes the visits to a lane, with what they remember. */
function createVisit(
  { waiver, owner }: Pick<HeldLane, "waiver" | "owner">,
  dependencies: CaretakerDependencies,
): (status: LaneStatus | undefined) => Promise<number> {
  const { options, store, chainRef, broadcastBuffer } = dependencies;
  const log = dependencies.log.child({ waiver: bytesToHex(waiver) });
  const schedule = createVisits(dependencies.schedule.onError);
  const hooks = { onLaneStopped: () => {}, onFollowing: () => {} };
  const memory = createWatchMemory(dependencies);
  const context = { ...dependencies, ...memory, ...hooks, log, schedule, mode: "sends" as const };
  log.warn("no replica signs for this lane; its wrappers are followed to their end");
  let lease: Lease | undefined;
  const current = { current: () => lease, forget: () => {} };
  const watch = new LaneWatch(current, createBroadcaster(context, BREAKER), context);
  const visit = async (status: LaneStatus) => {
    lease = await takeLease(store, { chain: chainRef, waiver, owner }, options.leaseMs, { watchOnly: true });
    if (lease === undefined) return;
    const renewal = startRenewing(lease, dependencies);
    try {
      watch.onStatus(status);
      watch.onNewBlock();
      await schedule.visit();
    } finally {
      await renewal.end();
      await broadcastBuffer.flush(waiver);
      await releaseLease(store, lease.lane);
    }
  };
  return async (status) => {
    if (status) await visit(status);
    return ROUND_MS;
  };
}
