import { byteaArray, prepared } from "../database/statements.js";
import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
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

export interface LeaseOptions {
  /**
   * The owner signs nothing: it follows what the lane has sent. A retired lane has only such owners, and to everybody else
   * the lane has none.
   */
  readonly watchOnly?: boolean;
}

const LEASE = `lease_until = now() + $4 * interval '1 millisecond',
         epoch = epoch + case when owner = $3 then 0 else 1 end, owner = $3, watch_only = $6,
         reserved_for = null, reserved_until = '-infinity'`;

/** The condition on a lane whose lease the owner $3 may take or renew. */
const MAY_BE_TAKEN = `(state <> 'retired' or $6)
       -- A lease that ends later than any lease can was taken before the database's clock was set back.
       and (owner = $3 or lease_until < now() or lease_until > now() + $5 * interval '1 millisecond')
       and (reserved_for is null or reserved_for = $3 or reserved_until < now()
            or reserved_until > now() + $5 * interval '1 millisecond')`;

/**
 * Takes or renews the lease of a lane for `leaseMs` by the database's clock. The epoch goes up when the owner changes.
 * @returns undefined if another replica holds the lease or is being given it, or if the lane is retired.
 */
export async function takeLease(
  { pool }: Store,
  lane: Omit<HeldLane, "epoch">,
  leaseMs: number,
  { watchOnly = false }: LeaseOptions = {},
): Promise<Lease | undefined> {
  const { rows } = await pool.query<{ epoch: string; state: LaneState }>(
    `update lanes set ${LEASE} where chain = $1 and waiver = $2 and ${MAY_BE_TAKEN}
     returning epoch, state`,
    [
      lane.chain,
      toBuffer(lane.waiver),
      lane.owner,
      leaseMs,
      Math.max(LONGEST_LEASE_MS, 2 * leaseMs),
      watchOnly,
    ],
  );
  return rows[0] && { lane: { ...lane, epoch: BigInt(rows[0].epoch) }, state: rows[0].state };
}

/** The leases that one statement took. */
export interface TakenLeases {
  /** Lanes that another replica holds, and retired ones, have none. */
  readonly leases: readonly Lease[];
  /** The waivers of the lanes that may be taken, and whose rows others held at the moment. Ask for each with {@link takeLease}. */
  readonly locked: readonly Uint8Array[];
}

/**
 * Takes or renews the leases of several lanes in one statement. Each write of a lane holds its row for a moment, so the
 * statement passes over the rows that others hold: a lane that is stuck delays no other.
 */
export async function takeLeases(
  { pool }: Store,
  { chain, owner }: Pick<HeldLane, "chain" | "owner">,
  waivers: readonly Uint8Array[],
  leaseMs: number,
): Promise<TakenLeases> {
  if (waivers.length === 0) return { leases: [], locked: [] };
  const longest = Math.max(LONGEST_LEASE_MS, 2 * leaseMs);
  const { rows } = await pool.query<{ waiver: Buffer; epoch: string | null; state: LaneState }>(
    prepared(TAKE_ALL, [chain, byteaArray(waivers), owner, leaseMs, longest, false]),
  );
  return {
    leases: rows.flatMap(({ waiver, epoch, state }) =>
      epoch === null ? [] : [{ lane: { chain, waiver, owner, epoch: BigInt(epoch) }, state }],
    ),
    locked: rows.flatMap(({ waiver, epoch }) => (epoch === null ? [waiver] : [])),
  };
}

const IS_WANTED = `chain = $1 and waiver = any(array(select unnest($2::bytea[]))) and ${MAY_BE_TAKEN}`;

const TAKE_ALL = `with wanted as (
    select waiver, state from lanes where ${IS_WANTED}
  ), free as materialized (
    select waiver from lanes where ${IS_WANTED} for no key update skip locked
  ), taken as (
    update lanes set ${LEASE} from free where lanes.chain = $1 and lanes.waiver = free.waiver
    returning lanes.waiver, lanes.epoch, lanes.state
  )
  select waiver, epoch, state from taken
  union all
  select waiver, null, state from wanted where waiver not in (select waiver from free)`;

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
    [
      lane.chain,
      toBuffer(lane.waiver),
      lane.owner,
      lane.epoch,
      successor?.replica ?? null,
      successor?.forMs ?? 0,
    ],
  );
}
