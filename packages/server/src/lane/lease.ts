import type { Logger } from "../model/log.js";
import { type HeldLane, LeaseLostError } from "../store/lanes/heldLane.js";
import { type Lease, releaseLease, takeLease } from "../store/lanes/lease.js";
import type { Store } from "../store/store.js";

export interface KeepLeaseDependencies {
  readonly store: Store;
  readonly log: Logger;
  readonly options: { readonly leaseMs: number };
}

/** A lane's lease as its lane sees it. */
export interface LaneLease {
  /** What was last known of it, without asking. */
  current(): Lease | undefined;
  /** It is somebody else's: ask for it at once. */
  forget(): void;
  /** What the lane may do was changed: ask before anything else begins. */
  recheck(): void;
  /** The lease, taken if it can be. */
  acquire(): Promise<Lease | undefined>;
  /** Renews it no more, and hands it over. */
  release(): Promise<void>;
}

/** How often a lane that is somebody else's is asked for: who hands it over is followed at once. */
const TAKE_MS = 500;

/**
 * The lease of a lane, taken and renewed in time, also while a step waits for a slow node; the writes themselves are
 * guarded by its epoch.
 */
export function keepLease(
  lane: Omit<HeldLane, "epoch">,
  { store, log, options }: KeepLeaseDependencies,
): LaneLease {
  let held: Lease | undefined;
  let takeAt = Number.NEGATIVE_INFINITY;
  let changes = 0;
  const renewMs = options.leaseMs / 3;
  const ask = async () => {
    const before = changes;
    held = await takeLease(store, lane, options.leaseMs);
    // An answer that may be older than what was heard meanwhile is not the last word.
    if (changes === before) takeAt = performance.now() + (held ? renewMs : Math.min(renewMs, TAKE_MS));
  };
  let asking: Promise<void> | undefined;
  // One at a time: a late answer must not undo a later one, nor take the lease again after the end.
  const take = () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  const askAtOnce = () => {
    changes++;
    takeAt = Number.NEGATIVE_INFINITY;
  };
  const timer = setInterval(() => {
    if (held === undefined || performance.now() < takeAt) return;
    take().catch((error: unknown) => logFailure(log, error, "lease"));
  }, renewMs / 2);
  return {
    current: () => held,
    forget() {
      held = undefined;
      askAtOnce();
    },
    recheck: askAtOnce,
    async acquire(): Promise<Lease | undefined> {
      while (performance.now() >= takeAt) await take();
      return held;
    },
    /** Renews it no more, and hands it over. */
    async release(): Promise<void> {
      clearInterval(timer);
      // What fails here was told when it was asked for.
      await asking?.catch(() => {});
      if (held === undefined) return;
      await releaseLease(store, held.lane).catch((error: unknown) => logFailure(log, error, "lease"));
    },
  };
}

/** Says what failed in a lane's loop; it is tried again. */
export function logFailure(log: Logger, error: unknown, who: string): void {
  const err = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (error instanceof LeaseLostError) log.warn({ err }, `${who}: the lane has another owner`);
  else log.warn({ err }, `${who}: tries again`);
}
