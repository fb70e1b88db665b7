import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import type { HeldLane } from "./heldLane.js";
import type { LaneState } from "./laneStatus.js";

/** Makes a lane known to the store. One that was drained, retired or stopped stays so until it is opened. */
export async function registerLane(
  { pool }: Store,
  { chain, waiver }: Pick<HeldLane, "chain" | "waiver">,
): Promise<void> {
  await pool.query("insert into lanes (chain, waiver) values ($1, $2) on conflict do nothing", [
    chain,
    toBuffer(waiver),
  ]);
}

/** A lane's lease, and what the lane may do now. */
export interface Lease {
  readonly lane: HeldLane;
  readonly state: LaneState;
}

/** Replicas may have leases of different lengths; none is as long as this, or as twice one's own. */
const LONGEST_LEASE_MS = 4_000;

/**
 * Takes or renews the lease of a lane for `leaseMs` by the database's clock. The epoch goes up when the owner
 * changes. Undefined if another owner holds it, or if the lane is retired.
 */
export async function takeLease(
  { pool }: Store,
  lane: Omit<HeldLane, "epoch">,
  leaseMs: number,
): Promise<Lease | undefined> {
  const { rows } = await pool.query<{ epoch: string; state: LaneState }>(
    `update lanes
     set lease_until = now() + $4 * interval '1 millisecond',
         epoch = epoch + case when owner = $3 then 0 else 1 end, owner = $3
     where chain = $1 and waiver = $2 and state <> 'retired'
       -- One that lasts much longer than any is taken for was taken before the database's clock was set back.
       and (owner = $3 or lease_until < now() or lease_until > now() + $5 * interval '1 millisecond')
     returning epoch, state`,
    [lane.chain, toBuffer(lane.waiver), lane.owner, leaseMs, Math.max(LONGEST_LEASE_MS, 2 * leaseMs)],
  );
  return rows[0] && { lane: { ...lane, epoch: BigInt(rows[0].epoch) }, state: rows[0].state };
}

/** Hands the lane over: the next owner need not wait for the lease to run out. */
export async function releaseLease({ pool }: Store, lane: HeldLane): Promise<void> {
  await pool.query(
    "update lanes set lease_until = '-infinity', owner = null where chain = $1 and waiver = $2 and owner = $3 and epoch = $4",
    [lane.chain, toBuffer(lane.waiver), lane.owner, lane.epoch],
  );
}
