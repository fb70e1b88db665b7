import { prepared } from "../database/statements.js";
import type { Queryable, Store } from "../store.js";

/**
 * A lane whose lease a replica holds. Every write that moves the lane's submissions or the lane itself names it, and changes
 * nothing once the epoch is over.
 */
export interface HeldLane {
  readonly chain: number;
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  /** The UUID of the replica. */
  readonly owner: string;
  /** The fencing token: it goes up each time the owner changes. */
  readonly epoch: bigint;
}

/** Another replica owns the lane. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
}

/** The condition that names the row of a held lane, on the parameters $1 to $4. */
export const IS_HELD_LANE = "chain = $1 and waiver = $2 and owner = $3 and epoch = $4";

/**
 * The common table expression that guards each write of a lane, on the parameters $1 to $4. It has a row while the lane
 * has this owner and epoch, and keeps both until the statement ends. A renewal of the lease changes neither, and goes on.
 */
export const HELD_LEASE = `held as (
  select nonce_floor from lanes where ${IS_HELD_LANE} for key share
)`;

/** Parameters $1 to $4 of {@link HELD_LEASE}. */
export function leaseParameters(lane: HeldLane): [number, Uint8Array, string, bigint] {
  return [lane.chain, lane.waiver, lane.owner, lane.epoch];
}

/** A submission that a statement changed, and the replica whose clients wait for its result. */
export interface ChangedSubmission {
  readonly id: string;
  readonly origin: string;
}

/** True while {@link HELD_LEASE} has its row. Every guarded write has it in its condition. */
export const LEASE_IS_HELD = "exists (select from held)";

/**
 * Runs a write of the lane that the lease guards.
 * @param ids the submissions, parameter $5. Without any, nothing is written.
 * @param sql follows `with held as (…)`, has {@link LEASE_IS_HELD} in its condition, and returns `id, origin`.
 * @param parameters from $6 on.
 * @returns the submissions that the write changed. The others were not in the state that it expects.
 * @throws {@link LeaseLostError} if the write changed nothing because another replica owns the lane.
 */
export async function writeAsOwner<M extends ChangedSubmission>(
  { pool }: Store,
  lane: HeldLane,
  ids: readonly string[],
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<M[]> {
  if (ids.length === 0) return [];
  const { rows } = await pool.query<M>(
    prepared(`with ${HELD_LEASE}${sql}`, [...leaseParameters(lane), ids, ...parameters]),
  );
  if (rows.length === 0) await assertHeld(lane, pool);
  return rows;
}

/**
 * Changes the row of the lane itself, which the lease guards.
 * @param changes the assignments of the update, on parameters from $5 on.
 * @param options `condition`: on the lane's row; without it, the lane always changes. `rest`: common table expressions
 *   that follow `changed`, which has a row if the lane has changed.
 * @returns the changed row, or undefined if the condition does not hold.
 * @throws {@link LeaseLostError} if another replica owns the lane.
 */
export async function updateLaneAsOwner<Row extends object>(
  { pool }: { readonly pool: Queryable },
  lane: HeldLane,
  changes: string,
  parameters: readonly unknown[],
  { condition = "true", rest = "" }: { readonly condition?: string; readonly rest?: string } = {},
): Promise<Row | undefined> {
  const { rows } = await pool.query<Row & object>(
    `with changed as (update lanes set ${changes} where ${IS_HELD_LANE} and (${condition}) returning *)${rest}
     select * from changed`,
    [...leaseParameters(lane), ...parameters],
  );
  if (rows.length === 0) await assertHeld(lane, pool);
  return rows[0];
}

async function assertHeld(lane: HeldLane, db: Queryable): Promise<void> {
  const { rowCount } = await db.query(`with ${HELD_LEASE} select from held`, leaseParameters(lane));
  if (rowCount === 0)
    throw new LeaseLostError(`epoch ${lane.epoch} of the lane is over: another owner has it`);
}
