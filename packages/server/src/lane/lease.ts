import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Logger } from "../model/log.js";
import { LeaseLostError } from "../store/lanes/heldLane.js";
import { type Lease, releaseLease, takeLeases } from "../store/lanes/lease.js";
import type { Store } from "../store/store.js";
import { isStoreUnavailable } from "../store/storeTrouble.js";

export interface LeaseKeeperDependencies {
  readonly store: Store;
  readonly log: Logger;
  readonly options: { readonly leaseMs: number };
  /** The chain's number in the store. */
  readonly chain: number;
  /** The name of this process among the replicas. */
  readonly owner: string;
}

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
  /** The lease as last known, without asking the store; undefined if another replica has it. */
  current(): Lease | undefined;
  /** Returns the lease, after asking the store if it was not asked yet or is to be asked again; undefined if another replica has it. */
  acquire(): Promise<Lease | undefined>;
  /** Drops the lease, which another replica has, and makes the next `acquire` query the store. */
  forget(): void;
  /** Makes the next `acquire` query the store, because the lane's state has changed there. */
  recheck(): void;
  /** Releases the lease for another replica, which has some time to take it before this one tries again. */
  handOver(to: string): Promise<void>;
  /** Stops renewing the lease, and releases it so that another replica can take it at once. */
  release(): Promise<void>;
}

/** The pause between two attempts to take a lane that another replica has: a released lane is soon taken. */
const TAKE_MS = 500;
/** The longest time for which a lane waits for the replica to which it was handed. */
const HANDOVER_MS = 2_000;

interface KeptLane {
  readonly waiver: Uint8Array;
  readonly onTaken: () => void;
  held: Lease | undefined;
  /** The time of the next query, in ms of the monotonic clock. */
  nextQueryAt: number;
  rechecks: number;
}

/**
 * Renews leases by a timer, also while a step waits for a slow node. Every write of a lane is also guarded by its lease's
 * epoch.
 */
export function createLeaseKeeper({
  store,
  log,
  options,
  chain,
  owner,
}: LeaseKeeperDependencies): LeaseKeeper {
  const lanes = new Map<Hex, KeptLane>();
  const renewMs = options.leaseMs / 3;
  const pauseMs = Math.min(TAKE_MS, renewMs);
  const query = async (before: number) => {
    const due = [...lanes.values()].filter(({ nextQueryAt }) => nextQueryAt <= before);
    const rechecks = due.map((lane) => lane.rechecks);
    // The lease runs from here on, however late the answer is seen.
    const askedAt = performance.now();
    const waivers = due.map(({ waiver }) => waiver);
    const leases = await takeLeases(store, { chain, owner }, waivers, options.leaseMs);
    const byWaiver = new Map(leases.map((lease) => [bytesToHex(lease.lane.waiver), lease]));
    due.forEach((lane, i) => {
      const held = byWaiver.get(bytesToHex(lane.waiver));
      const isNew = held && (held.lane.epoch !== lane.held?.lane.epoch || held.state !== lane.held.state);
      lane.held = held;
      // An answer that may be older than a recheck does not postpone the next request.
      if (rechecks[i] === lane.rechecks) lane.nextQueryAt = askedAt + (held ? renewMs : pauseMs);
      if (isNew) lane.onTaken();
    });
  };
  let pendingQuery: Promise<void> | undefined;
  // One query at a time: a late answer must not undo a later one, nor take a lease again after its release.
  const take = (before: number) => {
    pendingQuery ??= query(before).finally(() => {
      pendingQuery = undefined;
    });
    return pendingQuery;
  };
  const settled = async () => void (await pendingQuery?.catch(() => {}));
  const timer = setInterval(() => {
    // Leases that are due before the next round are renewed in this one, so that one statement serves all.
    const before = performance.now() + pauseMs / 4;
    if (![...lanes.values()].some(({ nextQueryAt }) => nextQueryAt <= before)) return;
    take(before).catch((error: unknown) => logFailure(log, error, "lease"));
  }, pauseMs / 2);
  return {
    keep(waiver, onTaken) {
      const lane = { waiver, onTaken, held: undefined, nextQueryAt: Number.NEGATIVE_INFINITY, rechecks: 0 };
      const key = bytesToHex(waiver);
      lanes.set(key, lane);
      return laneLease(lane, {
        take: () => take(performance.now()),
        settled,
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
  /** Runs the query for all leases that are due, or waits for the one that runs. */
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
  const recheck = () => {
    lane.rechecks++;
    lane.nextQueryAt = Number.NEGATIVE_INFINITY;
  };
  return {
    current: () => lane.held,
    async acquire() {
      while (lane.nextQueryAt === Number.NEGATIVE_INFINITY) await take();
      return lane.held;
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
      lane.nextQueryAt = performance.now() + Math.min(leaseMs / 3, TAKE_MS);
      const forMs = Math.min(leaseMs, HANDOVER_MS);
      if (given) await releaseLease(store, given, { replica: to, forMs });
    },
    async release() {
      drop();
      // A query that fails was logged where it began.
      await settled();
      if (lane.held === undefined) return;
      await releaseLease(store, lane.held.lane).catch((error: unknown) => logFailure(log, error, "lease"));
    },
  };
}

/** Logs an error of one of the lane's loops. The loop tries again. */
export function logFailure(log: Logger, error: unknown, loop: string): void {
  const err = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (error instanceof LeaseLostError) log.warn({ err }, `${loop}: the lane has another owner`);
  // The store's monitor reports its troubles, once for all lanes.
  else if (isStoreUnavailable(error)) log.debug({ err }, `${loop}: tries again when the store works`);
  else log.warn({ err }, `${loop}: tries again`);
}
