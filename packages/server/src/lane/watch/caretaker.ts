import { randomUUID } from "node:crypto";
import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { createNonceProofs } from "../../chain/nonceProof.js";
import { patienceClock } from "../../model/patience.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { LaneStatus } from "../../store/lanes/laneStatus.js";
import { type Lease, releaseLease, takeLease } from "../../store/lanes/lease.js";
import type { LaneStatusCache } from "../choose/laneStatusCache.js";
import type { LaneDependencies, WatchContext } from "../context.js";
import { createFirstSeen } from "../law/firstSeen.js";
import { createStruckTurn } from "../law/strikes.js";
import { logFailure } from "../logFailure.js";
import { createBroadcaster } from "../send/broadcaster.js";
import { HeadOfLine } from "../send/head.js";
import type { Look, LookAgain, Schedule } from "./schedule.js";
import { createSweep } from "./sweep.js";
import { createWatcher } from "./watch.js";

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
const BREAKER = { succeed: async () => {}, fail: async () => {}, noAnswer: async () => {} };

/**
 * Starts to watch the lanes without an owner. In each round of a lane it takes the lane's lease, reconciles the lane with
 * the chain, and gives the lease back to be free for a replica with the key.
 */
export function startCaretaker(dependencies: CaretakerDependencies): Caretaker {
  const { statuses, schedule } = dependencies;
  const owner = randomUUID();
  const visits = new Map<Hex, Look>();
  const round = async () => {
    // A lane takes its own lease if this replica has its account, unless the lane is retired.
    const waivers = statuses.lanes
      .filter(isUnwatched)
      .filter(({ waiver, state }) => state === "retired" || !dependencies.isOwn(waiver))
      .map(({ waiver }) => waiver);
    const unwatched = new Map(waivers.map((waiver) => [bytesToHex(waiver), waiver]));
    for (const [name, waiver] of unwatched) {
      if (visits.has(name)) continue;
      visits.set(name, schedule.look(createVisit({ waiver, owner }, dependencies), { afterMs: 0 }));
    }
    for (const [name, visit] of visits) {
      if (!unwatched.has(name)) void visit.end().then(() => visits.delete(name));
    }
    return ROUND_MS;
  };
  const rounds = schedule.look(round, { afterMs: 0 });
  return {
    async close() {
      await rounds.end();
      await Promise.all([...visits.values()].map((visit) => visit.end()));
    },
  };
}

/** Nobody owns the lane, and something may still happen to its wrappers on the chain. */
function isUnwatched({ owner, inFlight, hasUnfinalized, hasOpenWrapper }: LaneStatus): boolean {
  return owner === undefined && (inFlight > 0 || hasUnfinalized || hasOpenWrapper);
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
  return schedule.look(renew, { afterMs: everyMs });
}

/** Makes the visits to a lane, with what they remember. */
function createVisit(
  { waiver, owner }: Pick<HeldLane, "waiver" | "owner">,
  dependencies: CaretakerDependencies,
): LookAgain {
  const { chain, options, store, chainRef, broadcastBuffer } = dependencies;
  const now = patienceClock(dependencies.patience);
  const log = dependencies.log.child({ waiver: bytesToHex(waiver) });
  const context: WatchContext = {
    ...dependencies,
    log,
    headOfLine: new HeadOfLine(),
    struckTurn: createStruckTurn(),
    firstSeen: createFirstSeen(now),
    nonceProofs: createNonceProofs({ chain, reorgDepth: options.reorgDepth, now }),
    onLaneStopped: () => {},
  };
  log.warn("no replica signs for this lane; its wrappers are followed to their end");
  const watcher = createWatcher(context, createBroadcaster(context, BREAKER));
  const sweep = createSweep(context);
  let sweptAt = Number.NEGATIVE_INFINITY;
  const watchOnce = async ({ lane, state }: Lease) => {
    const isSweepDue = performance.now() - sweptAt >= options.sweepIntervalMs;
    if (isSweepDue && !(await sweep.next(lane))) sweptAt = performance.now();
    await watcher.poll(lane, state === "stopped" ? "silent" : "sends");
    await watcher.doubts.look(lane);
  };
  const visit = async () => {
    const key = { chain: chainRef, waiver, owner };
    const lease = await takeLease(store, key, options.leaseMs, { watchOnly: true });
    if (lease === undefined) return;
    const renewal = startRenewing(lease, dependencies);
    try {
      await watchOnce(lease);
    } finally {
      await renewal.end();
      await broadcastBuffer.flush(waiver);
      await releaseLease(store, lease.lane);
    }
  };
  return async () => {
    await visit().catch((error: unknown) => logFailure(log, error, "caretaker"));
    return ROUND_MS;
  };
}
