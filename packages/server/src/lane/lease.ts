import type { Logger } from "../model/log.js";
import { type HeldLane, LeaseLostError } from "../store/lanes/heldLane.js";
import { type Lease, releaseLease, takeLease } from "../store/lanes/lease.js";
import type { Store } from "../store/store.js";
import { isStoreUnavailable } from "../store/storeTrouble.js";

export interface KeepLeaseDependencies {
  readonly store: Store;
  readonly log: Logger;
  readonly options: { readonly leaseMs: number };
}

/** The lease of one lane, as the lane sees it. */
export interface LaneLease {
  /** The lease as last known, without asking the store; undefined if another replica has it. */
  current(): Lease | undefined;
  /** Returns the lease, after taking or renewing it if that is due; undefined if another replica has it. */
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

/**
 * Takes the lease of a lane and renews it in time, also while a step waits for a slow node. Every write of the lane is
 * also guarded by the lease's epoch.
 */
export function keepLease(
  lane: Omit<HeldLane, "epoch">,
  { store, log, options }: KeepLeaseDependencies,
): LaneLease {
  let held: Lease | undefined;
  let nextQueryAt = Number.NEGATIVE_INFINITY;
  let rechecks = 0;
  const renewMs = options.leaseMs / 3;
  const query = async () => {
    const before = rechecks;
    held = await takeLease(store, lane, options.leaseMs);
    // An answer that may be older than a recheck does not postpone the next request.
    if (rechecks === before) nextQueryAt = performance.now() + (held ? renewMs : Math.min(renewMs, TAKE_MS));
  };
  let pendingQuery: Promise<void> | undefined;
  // One query at a time: a late answer must not undo a later one, nor take the lease again after its release.
  const take = () => {
    pendingQuery ??= query().finally(() => {
      pendingQuery = undefined;
    });
    return pendingQuery;
  };
  const recheck = () => {
    rechecks++;
    nextQueryAt = Number.NEGATIVE_INFINITY;
  };
  const timer = setInterval(() => {
    if (held === undefined || performance.now() < nextQueryAt) return;
    take().catch((error: unknown) => logFailure(log, error, "lease"));
  }, renewMs / 2);
  return {
    current: () => held,
    async acquire() {
      while (performance.now() >= nextQueryAt) await take();
      return held;
    },
    forget() {
      held = undefined;
      recheck();
    },
    recheck,
    async handOver(to) {
      await pendingQuery?.catch(() => {});
      const given = held?.lane;
      held = undefined;
      nextQueryAt = performance.now() + Math.min(renewMs, TAKE_MS);
      const forMs = Math.min(options.leaseMs, HANDOVER_MS);
      if (given) await releaseLease(store, given, { replica: to, forMs });
    },
    async release() {
      clearInterval(timer);
      // A query that fails was logged where it began.
      await pendingQuery?.catch(() => {});
      if (held === undefined) return;
      await releaseLease(store, held.lane).catch((error: unknown) => logFailure(log, error, "lease"));
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
