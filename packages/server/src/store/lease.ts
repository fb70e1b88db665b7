import { toBuffer } from "./rows.js";
import type { Queryable, Store } from "./Store.js";

/** A lane as its owner holds it. Every write of the lane names it, and is refused once the epoch has moved on. */
export interface Lane {
  readonly chain: number;
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  readonly owner: string;
  readonly epoch: bigint;
}

/** The lane is not ours any more. */
export class LaneLostError extends Error {
  override readonly name = "LaneLostError";
}

/**
 * Takes or renews the lease of a lane for `leaseMs` by the database's clock. The epoch goes up when the owner
 * changes. Undefined if another owner holds it.
 */
export async function takeLease(
  { pool }: Store,
  lane: Omit<Lane, "epoch">,
  leaseMs: number,
): Promise<Lane | undefined> {
  const { rows } = await pool.query<{ epoch: string }>(
    `insert into lanes as l (chain, waiver, owner, epoch, lease_until)
     values ($1, $2, $3, 1, now() + $4 * interval '1 millisecond')
     on conflict (chain, waiver) do update
       set owner = excluded.owner, lease_until = excluded.lease_until,
           epoch = l.epoch + case when l.owner = excluded.owner then 0 else 1 end
       where l.owner = excluded.owner or l.lease_until < now()
     returning epoch`,
    [lane.chain, toBuffer(lane.waiver), lane.owner, leaseMs],
  );
  return rows[0] && { ...lane, epoch: BigInt(rows[0].epoch) };
}

/** Hands the lane over: the next owner need not wait for the lease to run out. */
export async function releaseLease({ pool }: Store, lane: Lane): Promise<void> {
  await pool.query(
    "update lanes set lease_until = '-infinity' where chain = $1 and waiver = $2 and owner = $3 and epoch = $4",
    [lane.chain, toBuffer(lane.waiver), lane.owner, lane.epoch],
  );
}

/**
 * The guard of a lane's write, as a common table expression on the parameters $1 to $4: it has a row while the
 * lane is ours, and keeps the epoch from moving until the statement is through.
 */
export const HELD = `held as (
  select 1 from lanes where chain = $1 and waiver = $2 and owner = $3 and epoch = $4 for share
)`;

/** The parameters $1 to $4 of {@link HELD}. */
export function heldBy(lane: Lane): [number, Buffer, string, bigint] {
  return [lane.chain, toBuffer(lane.waiver), lane.owner, lane.epoch];
}

/**
 * Runs a guarded write ($1 to $4 are {@link heldBy}) on these submissions, and returns those that it changed: the
 * others were no longer in the state that the write expects.
 * @throws {@link LaneLostError} if nothing could be changed because the lane is not ours.
 */
export async function writeAsOwner(
  { pool }: Store,
  lane: Lane,
  ids: readonly string[],
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await pool.query<{ id: string }>(
    `with ${HELD} ${sql} and exists (select from held) returning id`,
    [...heldBy(lane), ids, ...parameters],
  );
  if (rows.length === 0) await assertHeld(lane, pool);
  return rows.map(({ id }) => id);
}

async function assertHeld(lane: Lane, db: Queryable): Promise<void> {
  const { rowCount } = await db.query(`with ${HELD} select from held`, heldBy(lane));
  if (rowCount === 0)
    throw new LaneLostError(`epoch ${lane.epoch} of the lane is over: another owner has it`);
}
