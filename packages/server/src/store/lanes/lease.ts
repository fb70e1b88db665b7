import { byteaArray, prepared } from "../database/statements.js";
import type { Store } from "../store.js";
import type { HeldLane } from "./heldLane.js";
import type { LaneState } from "./laneStatus.js";

/** Adds lanes to the store. A lane that the store knows keeps its state. */
export async function registerLanes(
  { pool }: Store,
  chain: number,
  waivers: readonly Uint8Array[],
): Promise<void> {
  await pool.query(
    // One order for all replicas, so that two of them cannot wait for each other.
    "insert into lanes (chain, waiver) select $1, w from unnest($2::bytea[]) w order by w on conflict do nothing",
    [chain, byteaArray(waivers)],
  );
}

/** A lane's lease, and the state of the lane when the lease was taken or renewed. */
export interface Lease {
  readonly lane: HeldLane;
  readonly state: LaneState;
}

/** Replicas may use leases of different lengths. No lease is longer than this, or than twice the replica's own. */
const LONGEST_LEASE_MS = 4_000;

/** Somebody who takes leases. */
export interface LeaseTaker extends Pick<HeldLane, "chain" | "owner"> {
  /**
   * The owner signs nothing: it follows what the lane has sent. A retired lane has only such owners, and to everybody else
   * the lane has none: one that signs takes it over at once. Default: it signs.
   */
  readonly watchOnly?: boolean;
}

/** The leases that one statement took. */
export interface TakenLeases {
  /** Lanes that another replica holds, and retired ones, have none. */
  readonly leases: readonly Lease[];
  /** The waivers of the lanes that may be taken, and that somebody writes or has locked at the moment. */
  readonly locked: readonly Uint8Array[];
}

/**
 * Takes or renews the leases of several lanes for `leaseMs` by the database's clock, in one statement that waits for nobody.
 * The epoch is a key of the row, and goes up when the owner changes. So a renewal passes beside the open writes of the lane
 * ({@link HELD_LEASE}), and a takeover comes after them.
 */
export async function takeLeases(
  { pool }: Store,
  { chain, owner, watchOnly = false }: LeaseTaker,
  waivers: readonly Uint8Array[],
  leaseMs: number,
): Promise<TakenLeases> {
  if (waivers.length === 0) return { leases: [], locked: [] };
  const longest = Math.max(LONGEST_LEASE_MS, 2 * leaseMs);
  const { rows } = await pool.query<{ waiver: Buffer; epoch: string | null; state: LaneState }>(
    prepared(TAKE_ALL, [chain, byteaArray(waivers), owner, leaseMs, longest, watchOnly]),
  );
  return {
    leases: rows.flatMap(({ waiver, epoch, state }) =>
      epoch === null ? [] : [{ lane: { chain, waiver, owner, epoch: BigInt(epoch) }, state }],
    ),
    locked: rows.flatMap(({ waiver, epoch }) => (epoch === null ? [waiver] : [])),
  };
}

/** The condition on the lanes $2 whose leases the owner $3 may take or renew. */
const IS_WANTED = `chain = $1 and waiver = any(array(select unnest($2::bytea[]))) and (state <> 'retired' or $6)
  -- A lease that ends later than any lease can was taken before the database's clock was set back.
  and (owner = $3 or (watch_only and not $6) or lease_until < now()
       or lease_until > now() + $5 * interval '1 millisecond')
  and (reserved_for is null or reserved_for = $3 or reserved_until < now()
       or reserved_until > now() + $5 * interval '1 millisecond')`;

const TAKE_ALL = `with wanted as (
    select waiver, state from lanes where ${IS_WANTED}
  ), renewed as materialized (
    select waiver from lanes where ${IS_WANTED} and owner = $3 for no key update skip locked
  ), changed as materialized (
    select waiver from lanes where ${IS_WANTED} and owner is distinct from $3 for update skip locked
  ), taken as (
    update lanes set lease_until = now() + $4 * interval '1 millisecond',
      epoch = epoch + case when owner = $3 then 0 else 1 end, owner = $3, watch_only = $6,
      reserved_for = null, reserved_until = '-infinity'
    from (select waiver from renewed union all select waiver from changed) free
    where lanes.chain = $1 and lanes.waiver = free.waiver
    returning lanes.waiver, lanes.epoch, lanes.state
  )
  select waiver, epoch, state from taken
  union all
  select waiver, null, state from wanted where waiver not in (select waiver from taken)`;

/** The replica that is to have a lane, and the time for which nobody else may take it. */
export interface Successor {
  /** The UUID of the replica. */
  readonly replica: string;
  readonly forMs: number;
}

/** Gives up the lease, so that another replica can take it at once: any, or the successor. */
export async function releaseLease({ pool }: Store, lane: HeldLane, successor?: Successor): Promise<void> {
  await pool.query(
    `update lanes set lease_until = '-infinity', owner = null, watch_only = false, reserved_for = $5,
       reserved_until = now() + $6 * interval '1 millisecond'
     where chain = $1 and waiver = $2 and owner = $3 and epoch = $4`,
    [lane.chain, lane.waiver, lane.owner, lane.epoch, successor?.replica ?? null, successor?.forMs ?? 0],
  );
}
