import { prepared } from "../statements.js";
import type { Queryable, Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";

/** A lane as its owner holds it. Every write of the lane names it, and is refused once the epoch has moved on. */
export interface HeldLane {
  readonly chain: number;
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  readonly owner: string;
  readonly epoch: bigint;
}

/** The lane is not ours any more. */
export class LeaseLostError extends Error {
  override readonly name = "LaneLostError";
}

/**
 * The guard of a lane's write, as a common table expression on the parameters $1 to $4: it has a row while the
 * lane is ours, and keeps the epoch from moving until the statement is through.
 */
export const HELD_LEASE = `held as (
  select 1 from lanes where chain = $1 and waiver = $2 and owner = $3 and epoch = $4 for share
)`;

/** The parameters $1 to $4 of {@link HELD_LEASE}. */
export function leaseParameters(lane: HeldLane): [number, Buffer, string, bigint] {
  return [lane.chain, toBuffer(lane.waiver), lane.owner, lane.epoch];
}

/** A submission that took a step, and the replica whose clients wait for it. */
export interface ChangedSubmission {
  readonly id: string;
  readonly origin: string;
}

/** True while {@link HELD_LEASE} has its row: part of the condition of every guarded write. */
export const LEASE_IS_HELD = "exists (select from held)";

/**
 * Runs a guarded write ($1 to $4 are {@link leaseParameters}, $5 the ids) and returns the submissions that it changed: the others
 * were no longer in the state that the write expects. The text begins behind `with held`, asks {@link LEASE_IS_HELD}, and
 * returns `id, origin`.
 * @throws {@link LaneLostError} if nothing could be changed because the lane is not ours.
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

async function assertHeld(lane: HeldLane, db: Queryable): Promise<void> {
  const { rowCount } = await db.query(`with ${HELD_LEASE} select from held`, leaseParameters(lane));
  if (rowCount === 0)
    throw new LeaseLostError(`epoch ${lane.epoch} of the lane is over: another owner has it`);
}
