import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Logger } from "../../model/telemetry/log.js";
import { isStoreUnavailable } from "../../store/database/storeTrouble.js";
import {
  type Lease,
  type LeaseTaker,
  releaseLease,
  type TakenLeases,
  takeLeases,
} from "../../store/lanes/lease.js";
import type { Store } from "../../store/store.js";
import type { Schedule } from "../../util/schedule.js";
import { logFailure } from "../context.js";

export interface LeaseDependencies extends LeaseTaker {
  /** The store with the connection of the leases. */
  readonly store: Store;
  readonly log: Logger;
  readonly schedule: Schedule;
  readonly options: { readonly leaseMs: number };
}

export type LeaseKeeper = ReturnType<typeof createLeaseKeeper>;
export type LaneLease = ReturnType<typeof laneLease>;

/** The longest time for which a lane waits for the replica to which it was handed. */
const HANDOVER_MS = 2_000;
/** The pause between two attempts to take a lane that another replica has: a released lane is soon taken. */
const TAKE_MS = 500;

/** Returns the time after which a lease is renewed. */
const renewalOf = ({ leaseMs }: LeaseDependencies["options"]) => leaseMs / 3;
/** Returns the time between two attempts to take or renew a lease. */
const pauseOf = (options: LeaseDependencies["options"]) => Math.min(TAKE_MS, renewalOf(options));

/** A lane whose lease this replica takes and renews. Times are in ms of the monotonic clock. */
interface KeptLane {
  readonly waiver: Uint8Array;
  readonly onTaken: () => void;
  held: Lease | undefined;
  /** The end of the lease that is held. */
  heldUntil: number;
  /** The time of the next query. */
  nextQueryAt: number;
  rechecks: number;
}

/**
 * Keeps the leases of all lanes of this replica: one statement takes and renews those that are due, by a timer, also while a step
 * waits for a slow node. Every write of a lane is also guarded by its lease's epoch.
 */
export function createLeaseKeeper(dependencies: LeaseDependencies) {
  const { log, options, schedule } = dependencies;
  const lanes = new Map<Hex, KeptLane>();
  const pauseMs = pauseOf(options);
  let pendingQuery: Promise<void> | undefined;
  // One query at a time: a late answer must not undo a later one, nor take a lease again after its release.
  const take = (before: number) => {
    const due = [...lanes.values()].filter(({ nextQueryAt }) => nextQueryAt <= before);
    pendingQuery ??= takeDue(due, dependencies).finally(() => {
      pendingQuery = undefined;
    });
    return pendingQuery;
  };
  /** Resolves when no renewal is running. Never rejects: a query that fails was logged where it began. */
  const settled = async () => void (await pendingQuery?.catch(() => {}));
  const renewals = schedule.look(async () => {
    const now = performance.now();
    const isDue = [...lanes.values()].some(({ nextQueryAt }) => nextQueryAt <= now + pauseMs / 4);
    // Leases that are due soon are renewed in the same statement, and from then on with the others.
    if (isDue) take(now + renewalOf(options) / 2).catch((error: unknown) => logFailure(log, error, "lease"));
    return pauseMs / 2;
  }, pauseMs / 2);
  return {
    /**
     * Begins to take the lease of a lane, and to renew it in time.
     * @param onTaken called when the replica has got the lease, or has it in another state of the lane.
     */
    keep(waiver: Uint8Array, onTaken: () => void) {
      const never = Number.NEGATIVE_INFINITY;
      const lane = { waiver, onTaken, held: undefined, heldUntil: never, nextQueryAt: never, rechecks: 0 };
      const key = bytesToHex(waiver);
      lanes.set(key, lane);
      const drop = () => void lanes.delete(key);
      return laneLease(lane, { ...dependencies, take: () => take(performance.now()), settled, drop });
    },
    settled,
    close: () => void renewals.end(),
  };
}

/** Takes and renews these leases in one statement, and notes what became of each. */
async function takeDue(
  due: readonly KeptLane[],
  { store, options, ...taker }: LeaseDependencies,
): Promise<void> {
  // A lease runs from here on, however late the answer is seen.
  const askedAt = performance.now();
  const rechecks = due.map((lane) => lane.rechecks);
  const waivers = due.map(({ waiver }) => waiver);
  const { leases, locked } = await reconnecting(store, takeLeases(store, taker, waivers, options.leaseMs));
  const taken = new Map(leases.map((lease) => [bytesToHex(lease.lane.waiver), lease]));
  const lockedWaivers = new Set(locked.map(bytesToHex));
  for (const [i, lane] of due.entries()) {
    const waiver = bytesToHex(lane.waiver);
    const lease = taken.get(waiver);
    const before = lane.held;
    // A lease whose row is locked stays until it runs out.
    if (!lockedWaivers.has(waiver) || askedAt >= lane.heldUntil) lane.held = lease;
    if (lease) lane.heldUntil = askedAt + options.leaseMs;
    // An answer that may be older than a recheck does not postpone the next request.
    if (rechecks[i] === lane.rechecks)
      lane.nextQueryAt = askedAt + (lease ? renewalOf(options) : pauseOf(options));
    if (lease && (lease.lane.epoch !== before?.lane.epoch || lease.state !== before.state)) lane.onTaken();
  }
}

/** A connection that gives no answer may be dead: after a failure, the next attempt gets a new one. */
async function reconnecting({ pool }: Store, query: Promise<TakenLeases>): Promise<TakenLeases> {
  try {
    return await query;
  } catch (error) {
    if (isStoreUnavailable(error)) pool.renew();
    throw error;
  }
}

interface LaneLeaseDependencies extends LeaseDependencies {
  /** Runs the query for all leases that are due, or waits for a running one. */
  take(): Promise<void>;
  /** Resolves when no query is running that may take the lease. */
  settled(): Promise<void>;
  /** Ends the renewal. */
  drop(): void;
}

/** The lease of one lane, as the lane sees it. */
function laneLease(lane: KeptLane, { take, settled, drop, store, log, options }: LaneLeaseDependencies) {
  const recheck = () => {
    lane.rechecks++;
    lane.nextQueryAt = Number.NEGATIVE_INFINITY;
  };
  return {
    /**
     * The lease as last known, without asking the store; undefined if another replica has it, or if somebody has kept the lane's
     * row locked until it ran out: each write of the lane would wait for the row, on a connection that other lanes need.
     */
    current: () => lane.held,
    /** Returns the same, after asking the store if it was not asked yet or is to be asked again. */
    async acquire() {
      while (lane.nextQueryAt === Number.NEGATIVE_INFINITY) await take();
      return lane.held;
    },
    /** Drops the lease, which another replica has, and makes the next `acquire` query the store. */
    forget() {
      lane.held = undefined;
      recheck();
    },
    /** Makes the next `acquire` query the store, because the lane's state has changed there. */
    recheck,
    /** Releases the lease for the replica `to`. This replica tries again only after a while. */
    async handOver(to: string) {
      await settled();
      const given = lane.held?.lane;
      lane.held = undefined;
      lane.nextQueryAt = performance.now() + pauseOf(options);
      const forMs = Math.min(options.leaseMs, HANDOVER_MS);
      if (given) await releaseLease(store, given, { replica: to, forMs });
    },
    /** Stops renewing the lease, and releases it, so that another replica can take the lane at once. */
    async release() {
      drop();
      await settled();
      if (lane.held === undefined) return;
      await releaseLease(store, lane.held.lane).catch((error: unknown) => logFailure(log, error, "lease"));
    },
  };
}
