import type { LaneWait } from "../../model/submission/waitCauses.js";
import { inTransaction } from "../database/transaction.js";
import type { Queryable, Store } from "../store.js";
import { type HeldLane, updateLaneAsOwner } from "./heldLane.js";
import { FOREIGN_USE_MEMORY, type LaneState } from "./laneStatus.js";
import { rememberTransaction, type WithdrawnWrapper } from "./nonces/withdrawnWrappers.js";

/** The lane takes work. */
export const TAKES_WORK = "state in ('open', 'draining')";
/** The changes that stop a lane; parameter $5 is the reason. */
export const STOPPED = "state = 'stopped', reason = $5, broken_until = '-infinity'";

/**
 * draining → retired: for a lane in which nothing is queued, signed or broadcast. With `reorgsMayCome`, nor in a block that is not final.
 * @returns false if something is, or if an operator has opened the lane meanwhile.
 * @throws {@link LeaseLostError}
 */
export async function retireDrained(store: Store, lane: HeldLane, reorgsMayCome: boolean): Promise<boolean> {
  const retired = await updateLaneAsOwner(store, lane, RETIRED, [reorgsMayCome], { condition: IS_DRAINED });
  return retired !== undefined;
}

const RETIRED = "state = 'retired', reason = 'drained', broken_until = '-infinity'";
const IS_DRAINED = `state = 'draining' and not exists (
  select from unfinished u where u.chain = $1 and u.waiver = $2 and (u.state <> 'included' or $5))`;

/**
 * open or draining → stopped, by the owner of the lane; closes its breaker.
 * @returns false if the lane took no work any more.
 * @throws {@link LeaseLostError}
 */
export async function stopWorkingLane(store: Store, lane: HeldLane, reason: string): Promise<boolean> {
  const stopped = await updateLaneAsOwner(store, lane, STOPPED, [reason], { condition: TAKES_WORK });
  return stopped !== undefined;
}

/**
 * Sets the state of a lane for an operator, whoever owns it, and closes its breaker. Opening a lane resets its count of foreign
 * uses; what the waiver sent while its lane took no work is none.
 * @returns false if the store has no such lane.
 */
export async function setLaneState(
  { pool }: { readonly pool: Queryable },
  chain: number,
  waiver: Uint8Array,
  state: LaneState,
  reason?: string,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update lanes set state = $3::lane_state, reason = $4, broken_until = '-infinity',
       foreign_uses = case when $3::lane_state = 'open' then 0 else foreign_uses end,
       known_below = case when $3::lane_state <> 'open' or ${TAKES_WORK} then known_below end
     where chain = $1 and waiver = $2`,
    [chain, waiver, state, reason ?? null],
  );
  return rowCount === 1;
}

const BROKEN = "broken_until = now() + $5::float8 * interval '1 millisecond', reason = $6";

/**
 * Opens a lane's breaker for `forMs`: no new work goes to the lane. With 0, closes it. A lane that takes no work stays as it
 * is.
 * @throws {@link LeaseLostError}
 */
export async function setBreaker(
  store: Store,
  lane: HeldLane,
  forMs: number,
  reason: string | undefined,
): Promise<void> {
  await updateLaneAsOwner(store, lane, BROKEN, [forMs, reason ?? null], { condition: TAKES_WORK });
}

const COUNTED = `foreign_use_at = now(),
  foreign_uses = 1 + case when foreign_use_at > now() - interval '${FOREIGN_USE_MEMORY}' then foreign_uses else 0 end`;

/**
 * Counts a use of the waiver's nonces by something else, and remembers the transactions, so that none is counted again.
 * @returns `foreignUses`: the number of such uses, each at most a day after the one before. `isNew`: these were not counted before.
 * @throws {@link LeaseLostError}
 */
export async function countForeignUse(
  store: Store,
  lane: HeldLane,
  uses: readonly WithdrawnWrapper[],
): Promise<{ readonly foreignUses: number; readonly isNew: boolean }> {
  return await inTransaction(store, async (db) => {
    let isNew = false;
    for (const use of uses) isNew = (await rememberTransaction({ pool: db }, lane, use)) || isNew;
    const changes = isNew ? COUNTED : "foreign_uses = foreign_uses";
    const changed = await updateLaneAsOwner<{ foreign_uses: number }>({ pool: db }, lane, changes, []);
    return { foreignUses: changed?.foreign_uses ?? 0, isNew };
  });
}

/**
 * Stores what the lane waits for, for every replica to tell; nothing if undefined.
 * @param forMs the time that it has waited.
 * @throws {@link LeaseLostError}
 */
export async function saveLaneWait(
  store: Store,
  lane: HeldLane,
  wait: LaneWait | undefined,
  forMs: number,
): Promise<void> {
  const since = "now() - $7::float8 * interval '1 millisecond'";
  const changes = `waits_cause = $5, waits_for = $6, waits_since = case when $5::text is not null then ${since} end`;
  await updateLaneAsOwner(store, lane, changes, [wait?.cause ?? null, wait?.sentence ?? null, forMs]);
}
