import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Logger } from "../../model/telemetry/log.js";
import { isStoreUnavailable } from "../../store/database/storeTrouble.js";
import { isTransactionConflict } from "../../store/database/transaction.js";
import { type Lease, takeLease, takeLeases } from "../../store/lanes/lease.js";
import type { Store } from "../../store/store.js";
import { logFailure } from "../logFailure.js";

export interface LeaseQueryDependencies {
  /** The store with the connections of the leases. */
  readonly store: Store;
  readonly log: Logger;
  readonly options: { readonly leaseMs: number };
  /** The chain's number in the store. */
  readonly chain: number;
  /** The name of this process among the replicas. */
  readonly owner: string;
}

/** A lane whose lease this replica takes and renews. Times are in ms of the monotonic clock. */
export interface KeptLane {
  readonly waiver: Uint8Array;
  readonly onTaken: () => void;
  held: Lease | undefined;
  /** The time of the next query. */
  nextQueryAt: number;
  rechecks: number;
  /** The time of the last query that took or renewed the lease. */
  renewedAt: number;
  /** The time of the last query for this lane alone. */
  waitedAt: number;
  /** Somebody has kept the lane's row locked for most of the lease. */
  isLocked: boolean;
  /** The query for this lane alone, while another statement holds its row. The query for all leaves the lane out. */
  pending: Promise<void> | undefined;
}

/** The pause between two attempts to take a lane that another replica has: a released lane is soon taken. */
const TAKE_MS = 500;
/**
 * The most statements that wait for a locked row at a time, each on a connection of the leases. The other lanes with locked
 * rows are in the next query for all.
 */
const MAX_WAITING = 2;
/** A lane counts as locked when its lease could not be renewed for this part of its length. */
const LOCKED_PART = 2 / 3;

/** Returns the time after which a lease is renewed. */
export const renewalOf = ({ leaseMs }: { readonly leaseMs: number }) => leaseMs / 3;
/** Returns the time between two attempts to take or renew a lease. */
export const pauseOf = (options: { readonly leaseMs: number }) => Math.min(TAKE_MS, renewalOf(options));

/** The moment of a query for a lane. */
interface Asked {
  /** The lease runs from here on, however late the answer is seen. */
  readonly askedAt: number;
  readonly rechecks: number;
}

function askNow({ rechecks }: KeptLane): Asked {
  return { askedAt: performance.now(), rechecks };
}

export interface LeaseQuery {
  /** Whether the lease is to be taken or renewed at this time. */
  isDue(lane: KeptLane, at: number): boolean;
  /** Takes and renews the leases that are due before this time, in one statement. */
  query(before: number): Promise<void>;
}

/**
 * Takes and renews leases. The statement for all lanes passes over locked rows. So a row that stays locked delays the
 * renewal of no other lease. A busy lane's own writes lock its row for a moment, again and again, so for a few lanes at a
 * time a statement of its own waits for the row.
 */
export function createLeaseQuery(
  lanes: ReadonlyMap<Hex, KeptLane>,
  dependencies: LeaseQueryDependencies,
): LeaseQuery {
  const { store, options, chain, owner } = dependencies;
  const isDue = ({ pending, nextQueryAt }: KeptLane, at: number) =>
    pending === undefined && nextQueryAt <= at;
  const query = async (before: number) => {
    const due = [...lanes.values()]
      .filter((lane) => isDue(lane, before))
      .map((lane) => ({ lane, asked: askNow(lane) }));
    const waivers = due.map(({ lane }) => lane.waiver);
    const taken = await reconnecting(store, takeLeases(store, { chain, owner }, waivers, options.leaseMs));
    const byWaiver = new Map(taken.leases.map((lease) => [bytesToHex(lease.lane.waiver), lease]));
    const lockedWaivers = new Set(taken.locked.map(bytesToHex));
    const isLocked = ({ waiver }: KeptLane) => lockedWaivers.has(bytesToHex(waiver));
    for (const { lane, asked } of due)
      if (!isLocked(lane)) note(lane, byWaiver.get(bytesToHex(lane.waiver)), asked, options);
    const waiting = [...lanes.values()].filter(({ pending }) => pending !== undefined).length;
    const turns = due.filter(({ lane }) => isLocked(lane)).sort((a, b) => a.lane.waitedAt - b.lane.waitedAt);
    for (const [i, { lane, asked }] of turns.entries()) {
      if (i < MAX_WAITING - waiting) takeAlone(lane, dependencies);
      else noteLocked(lane, asked, dependencies);
    }
  };
  return { isDue, query };
}

function note(
  lane: KeptLane,
  held: Lease | undefined,
  { askedAt, rechecks }: Asked,
  options: LeaseQueryDependencies["options"],
): void {
  const isOther = held && (held.lane.epoch !== lane.held?.lane.epoch || held.state !== lane.held.state);
  const isNew = isOther || (held && lane.isLocked);
  lane.held = held;
  lane.isLocked = false;
  if (held) lane.renewedAt = askedAt;
  // An answer that may be older than a recheck does not postpone the next request.
  if (rechecks === lane.rechecks) lane.nextQueryAt = askedAt + (held ? renewalOf(options) : pauseOf(options));
  if (isNew) lane.onTaken();
}

function noteLocked(lane: KeptLane, { askedAt }: Asked, { log, options }: LeaseQueryDependencies): void {
  // The next query is due at once, but a lane that asks for its lease does not wait for it.
  lane.nextQueryAt = Math.max(lane.nextQueryAt, askedAt);
  const sinceMs = performance.now() - lane.renewedAt;
  if (lane.held === undefined || lane.isLocked || sinceMs < LOCKED_PART * options.leaseMs) return;
  lane.isLocked = true;
  const waiver = bytesToHex(lane.waiver);
  log.warn(
    { waiver },
    "another session of the database keeps the row of the lane locked; the lane waits for it",
  );
}

function takeAlone(lane: KeptLane, dependencies: LeaseQueryDependencies): void {
  const { store, log, options, chain, owner } = dependencies;
  const asked = askNow(lane);
  lane.waitedAt = asked.askedAt;
  const taking = takeLease(store, { chain, waiver: lane.waiver, owner }, options.leaseMs).then(
    (held) => note(lane, held, asked, options),
    (error: unknown) => {
      if (!isTransactionConflict(error)) throw error;
      noteLocked(lane, asked, dependencies);
    },
  );
  lane.pending = reconnecting(store, taking).finally(() => {
    lane.pending = undefined;
  });
  lane.pending.catch((error: unknown) => logFailure(log, error, "lease"));
}

/** A connection that gives no answer may be dead, and others with it: after a failure, the next attempt gets a new one. */
async function reconnecting<T>({ pool }: Store, query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    if (isStoreUnavailable(error)) pool.renew();
    throw error;
  }
}
