import { randomUUID } from "node:crypto";
import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { createNonceProofs } from "../../chain/nonceProof.js";
import { patienceClock } from "../../model/patience.js";
import type { LaneStatus } from "../../store/lanes/laneStatus.js";
import { type Lease, releaseLease, takeLease } from "../../store/lanes/lease.js";
import type { LaneStatusCache } from "../choose/laneStatusCache.js";
import type { LaneDependencies, WatchContext } from "../context.js";
import { createFirstSeen } from "../law/firstSeen.js";
import { createStruckTurn } from "../law/strikes.js";
import { logFailure } from "../logFailure.js";
import { createBroadcaster } from "../send/broadcaster.js";
import { HeadOfLine } from "../send/head.js";
import type { Look, Schedule } from "./schedule.js";
import { createSweep, type Sweep } from "./sweep.js";
import { createWatcher, type Watcher } from "./watch.js";

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

interface WatchedLane {
  readonly watcher: Watcher;
  readonly sweep: Sweep;
  sweptAt: number;
  /** The last round in which the lane had no owner. */
  seenAt: number;
}

const ROUND_MS = 1_000;
/**
 * A lane that had an owner for this long is forgotten. Another caretaker may hold the lane between two rounds; forgetting
 * the lane at once would begin the search for its proofs anew.
 */
const FORGET_MS = 300_000;
/** Nobody sends new work to such a lane, so it needs no breaker. */
const BREAKER = { succeed: async () => {}, fail: async () => {}, noAnswer: async () => {} };

/**
 * Starts to watch the lanes without an owner. In each round it takes the lease of one lane after the other, reconciles the
 * lane with the chain, and gives the lease back to be free for a replica with the key.
 */
export function startCaretaker(dependencies: CaretakerDependencies): Caretaker {
  const { store, chainRef, options, log, statuses, schedule } = dependencies;
  const owner = randomUUID();
  const watchedLanes = new Map<Hex, WatchedLane>();
  let closed = false;
  const watchLane = async (waiver: Uint8Array) => {
    const lease = await takeLease(store, { chain: chainRef, waiver, owner }, options.leaseMs, {
      watchOnly: true,
    });
    if (lease === undefined) return;
    const waiverHex = bytesToHex(waiver);
    const watched = watchedLanes.get(waiverHex) ?? createWatchedLane(waiver, dependencies);
    watchedLanes.set(waiverHex, watched);
    const renewal = startRenewing(lease, dependencies);
    try {
      await watchOnce(lease, watched, options);
    } finally {
      await renewal.end();
      await dependencies.broadcastBuffer.flush(waiver);
      await releaseLease(store, lease.lane);
    }
  };
  const round = async () => {
    // A lane takes its own lease if this replica has its account, unless the lane is retired.
    const waivers = statuses.lanes
      .filter(isUnwatched)
      .filter(({ waiver, state }) => state === "retired" || !dependencies.isOwn(waiver))
      .map(({ waiver }) => waiver);
    const now = performance.now();
    for (const waiver of waivers) {
      const watched = watchedLanes.get(bytesToHex(waiver));
      if (watched) watched.seenAt = now;
    }
    for (const [waiver, { seenAt }] of watchedLanes)
      if (now - seenAt > FORGET_MS) watchedLanes.delete(waiver);
    for (const waiver of waivers) {
      if (closed) return;
      await watchLane(waiver).catch((error: unknown) => logFailure(log, error, "caretaker"));
    }
  };
  const rounds = schedule.look(
    async () => {
      await round().catch((error: unknown) => logFailure(log, error, "caretaker"));
      return ROUND_MS;
    },
    { afterMs: 0 },
  );
  return {
    async close() {
      closed = true;
      await rounds.end();
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

function createWatchedLane(waiver: Uint8Array, dependencies: CaretakerDependencies): WatchedLane {
  const { chain, options } = dependencies;
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
  return {
    watcher,
    sweep: createSweep(context),
    sweptAt: Number.NEGATIVE_INFINITY,
    seenAt: performance.now(),
  };
}

async function watchOnce(
  { lane, state }: Lease,
  watched: WatchedLane,
  options: WatchContext["options"],
): Promise<void> {
  const { watcher, sweep } = watched;
  const isSweepDue = performance.now() - watched.sweptAt >= options.sweepIntervalMs;
  if (isSweepDue && !(await sweep.next(lane))) watched.sweptAt = performance.now();
  await watcher.poll(lane, state === "stopped" ? "silent" : "sends");
  await watcher.doubts.look(lane);
}
