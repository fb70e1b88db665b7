import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Logger } from "../../model/telemetry/log.js";
import { type Lease, releaseLease } from "../../store/lanes/lease.js";
import type { Store } from "../../store/store.js";
import { logFailure } from "../logFailure.js";
import {
  createLeaseQuery,
  type KeptLane,
  type LeaseQueryDependencies,
  pauseOf,
  renewalOf,
} from "./leaseQuery.js";

/** Keeps the leases of all lanes of this replica: one statement takes and renews those that are due. */
export interface LeaseKeeper {
  /**
   * Begins to take the lease of a lane, and to renew it in time.
   * @param onTaken called when the replica has got the lease, or has it in another state of the lane.
   */
  keep(waiver: Uint8Array, onTaken: () => void): LaneLease;
  /** Resolves when no renewal is running. Never rejects. */
  settled(): Promise<void>;
  close(): void;
}

/** The lease of one lane, as the lane sees it. */
export interface LaneLease {
  /**
   * The lease as last known, without asking the store; undefined if another replica has it, or if somebody has kept the
   * lane's row locked for most of the lease: each write of the lane would wait for the row, on a connection that other
   * lanes need.
   */
  current(): Lease | undefined;
  /** Returns the same, after asking the store if it was not asked yet or is to be asked again. */
  acquire(): Promise<Lease | undefined>;
  /** Drops the lease, which another replica has, and makes the next `acquire` query the store. */
  forget(): void;
  /** Makes the next `acquire` query the store, because the lane's state has changed there. */
  recheck(): void;
  /** Releases the lease for the replica `to`. This replica tries again only after a while. */
  handOver(to: string): Promise<void>;
  /** Stops renewing the lease, and releases it, so that another replica can take the lane at once. */
  release(): Promise<void>;
}

/** The longest time for which a lane waits for the replica to which it was handed. */
const HANDOVER_MS = 2_000;

/**
 * Renews leases by a timer, also while a step waits for a slow node. Every write of a lane is also guarded by its lease's
 * epoch.
 */
export function createLeaseKeeper(dependencies: LeaseQueryDependencies): LeaseKeeper {
  const { store, log, options } = dependencies;
  const lanes = new Map<Hex, KeptLane>();
  const pauseMs = pauseOf(options);
  const { query, isDue } = createLeaseQuery(lanes, dependencies);
  let pendingQuery: Promise<void> | undefined;
  // One query at a time: a late answer must not undo a later one, nor take a lease again after its release.
  const take = (before: number) => {
    pendingQuery ??= query(before).finally(() => {
      pendingQuery = undefined;
    });
    return pendingQuery;
  };
  // A query that fails was logged where it began.
  const settled = async () => void (await pendingQuery?.catch(() => {}));
  const timer = setInterval(() => {
    const now = performance.now();
    if (![...lanes.values()].some((lane) => isDue(lane, now + pauseMs / 4))) return;
    // Leases that are due soon are renewed in the same statement, and from then on with the others.
    take(now + renewalOf(options) / 2).catch((error: unknown) => logFailure(log, error, "lease"));
  }, pauseMs / 2);
  return {
    keep(waiver, onTaken) {
      const never = {
        held: undefined,
        nextQueryAt: Number.NEGATIVE_INFINITY,
        rechecks: 0,
        renewedAt: Number.NEGATIVE_INFINITY,
        waitedAt: Number.NEGATIVE_INFINITY,
        isLocked: false,
        pending: undefined,
      };
      const lane: KeptLane = { waiver, onTaken, ...never };
      const key = bytesToHex(waiver);
      lanes.set(key, lane);
      return laneLease(lane, {
        take: () => lane.pending ?? take(performance.now()),
        async settled() {
          await settled();
          await lane.pending?.catch(() => {});
        },
        drop: () => void lanes.delete(key),
        store,
        log,
        ...options,
      });
    },
    settled,
    close: () => clearInterval(timer),
  };
}

interface LaneLeaseDependencies {
  /**
   * Runs the query for all leases that are due. Waits instead for a running query, of all leases or of this lane alone.
   */
  take(): Promise<void>;
  /** Resolves when no query is running that may take the lease. */
  settled(): Promise<void>;
  /** Ends the renewal. */
  drop(): void;
  readonly store: Store;
  readonly log: Logger;
  readonly leaseMs: number;
}

function laneLease(
  lane: KeptLane,
  { take, settled, drop, store, log, leaseMs }: LaneLeaseDependencies,
): LaneLease {
  const current = () => (lane.isLocked ? undefined : lane.held);
  const recheck = () => {
    lane.rechecks++;
    lane.nextQueryAt = Number.NEGATIVE_INFINITY;
  };
  return {
    current,
    async acquire() {
      while (lane.nextQueryAt === Number.NEGATIVE_INFINITY) await take();
      return current();
    },
    forget() {
      lane.held = undefined;
      recheck();
    },
    recheck,
    async handOver(to) {
      await settled();
      const given = lane.held?.lane;
      lane.held = undefined;
      lane.nextQueryAt = performance.now() + pauseOf({ leaseMs });
      const forMs = Math.min(leaseMs, HANDOVER_MS);
      if (given) await releaseLease(store, given, { replica: to, forMs });
    },
    async release() {
      drop();
      await settled();
      if (lane.held === undefined) return;
      await releaseLease(store, lane.held.lane).catch((error: unknown) => logFailure(log, error, "lease"));
    },
  };
}
