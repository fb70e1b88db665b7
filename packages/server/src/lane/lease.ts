import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Logger } from "../model/log.js";
import { LeaseLostError } from "../store/lanes/heldLane.js";
import { type Lease, releaseLease, takeLease, takeLeases } from "../store/lanes/lease.js";
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
  /** The query for this lane alone, while another statement holds its row. The query for all leaves the lane out. */
  pending: Promise<void> | undefined;
}

/**
 * Renews leases by a timer, also while a step waits for a slow node. Every write of a lane is also guarded by its lease's
 * epoch.
 */
export function createLeaseKeeper(dependencies: LeaseKeeperDependencies): LeaseKeeper {
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
    // Leases that are due before the next round are renewed in this one, so that one statement serves all.
    const before = performance.now() + pauseMs / 4;
    if (![...lanes.values()].some((lane) => isDue(lane, before))) return;
    take(before).catch((error: unknown) => logFailure(log, error, "lease"));
  }, pauseMs / 2);
  return {
    keep(waiver, onTaken) {
      const never = {
        held: undefined,
        nextQueryAt: Number.NEGATIVE_INFINITY,
        rechecks: 0,
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

const renewalOf = ({ leaseMs }: { readonly leaseMs: number }) => leaseMs / 3;
const pauseOf = (options: { readonly leaseMs: number }) => Math.min(TAKE_MS, renewalOf(options));

/** The moment of a query for a lane. */
interface Asked {
  /** The lease runs from here on, however late the answer is seen. */
  readonly askedAt: number;
  readonly rechecks: number;
}

function askNow({ rechecks }: KeptLane): Asked {
  return { askedAt: performance.now(), rechecks };
}

/** Takes and renews the leases of the lanes that are due, those with locked rows each by a statement of its own. */
function createLeaseQuery(
  lanes: ReadonlyMap<Hex, KeptLane>,
  { store, log, options, chain, owner }: LeaseKeeperDependencies,
) {
  const isDue = ({ pending, nextQueryAt }: KeptLane, before: number) =>
    pending === undefined && nextQueryAt <= before;
  const note = (lane: KeptLane, held: Lease | undefined, { askedAt, rechecks }: Asked) => {
    const isNew = held && (held.lane.epoch !== lane.held?.lane.epoch || held.state !== lane.held.state);
    lane.held = held;
    // An answer that may be older than a recheck does not postpone the next request.
    if (rechecks === lane.rechecks)
      lane.nextQueryAt = askedAt + (held ? renewalOf(options) : pauseOf(options));
    if (isNew) lane.onTaken();
  };
  // However long somebody holds the row of one lane, the leases of the others are renewed in time.
  const takeAlone = (lane: KeptLane) => {
    const asked = askNow(lane);
    lane.pending = takeLease(store, { chain, waiver: lane.waiver, owner }, options.leaseMs)
      .then((held) => note(lane, held, asked))
      .finally(() => {
        lane.pending = undefined;
      });
    lane.pending.catch((error: unknown) => logFailure(log, error, "lease"));
  };
  const query = async (before: number) => {
    const due = [...lanes.values()]
      .filter((lane) => isDue(lane, before))
      .map((lane) => ({ lane, asked: askNow(lane) }));
    const waivers = due.map(({ lane }) => lane.waiver);
    const { leases, locked } = await takeLeases(store, { chain, owner }, waivers, options.leaseMs);
    const byWaiver = new Map(leases.map((lease) => [bytesToHex(lease.lane.waiver), lease]));
    const lockedWaivers = new Set(locked.map(bytesToHex));
    for (const { lane, asked } of due) {
      const waiver = bytesToHex(lane.waiver);
      if (lockedWaivers.has(waiver)) takeAlone(lane);
      else note(lane, byWaiver.get(waiver), asked);
    }
  };
  return { query, isDue };
}

interface LaneLeaseDependencies {
  /** Runs the query for all leases that are due, or waits for the one that runs, or for that of this lane alone. */
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
