import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import type { HeldLane } from "./heldLane.js";
import type { LaneState } from "./laneStatus.js";

/** draining → retired: for a drained lane, unless an operator has opened it meanwhile. @returns false in that case. */
export async function retireDrained(
  { pool }: Store,
  { chain, waiver }: Pick<HeldLane, "chain" | "waiver">,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update lanes set state = 'retired', reason = 'drained', broken_until = '-infinity'
     where chain = $1 and waiver = $2 and state = 'draining'`,
    [chain, toBuffer(waiver)],
  );
  return rowCount === 1;
}

/** open or draining → stopped, and closes its breaker. @returns false if the lane took no work any more. */
export async function stopWorkingLane(
  { pool }: Store,
  { chain, waiver }: Pick<HeldLane, "chain" | "waiver">,
  reason: string,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update lanes set state = 'stopped', reason = $3, broken_until = '-infinity'
     where chain = $1 and waiver = $2 and state in ('open', 'draining')`,
    [chain, toBuffer(waiver), reason],
  );
  return rowCount === 1;
}

/**
 * Sets the state of a lane, and closes its breaker. Opening a lane resets its count of foreign uses.
 * @returns false if the store has no such lane.
 */
export async function setLaneState(
  { pool }: Store,
  chain: number,
  waiver: Uint8Array,
  state: LaneState,
  reason?: string,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update lanes set state = $3::lane_state, reason = $4, broken_until = '-infinity',
       foreign_uses = case when $3::lane_state = 'open' then 0 else foreign_uses end
     where chain = $1 and waiver = $2`,
    [chain, toBuffer(waiver), state, reason ?? null],
  );
  return rowCount === 1;
}
