import { readRows } from "../../database/statements.js";
import type { Store } from "../../store.js";
import { type HeldLane, updateLaneAsOwner } from "../heldLane.js";
import { STOPPED, TAKES_WORK } from "../setLaneState.js";

/** A wrapper of the lane in a block that was final. */
export interface FinalInclusion {
  readonly waiverNonce: bigint;
  readonly blockNumber: bigint;
  /** 32 bytes. */
  readonly blockHash: Uint8Array;
}

/** An inclusion whose waiver nonce the lane may have given up, because the chain had lost the block. */
export interface RecordedInclusion extends Omit<FinalInclusion, "waiverNonce"> {
  readonly waiverNonce?: bigint;
}

/** Finds the wrapper with the highest waiver nonce that the store knows in a final block. */
export async function findLastFinalInclusion(
  { pool }: Store,
  { chain, waiver }: Pick<HeldLane, "chain" | "waiver">,
): Promise<FinalInclusion | undefined> {
  const [last] = await readRows<FinalInclusion>(
    pool,
    `(select waiver_nonce as "waiverNonce", block_number as "blockNumber", block_hash as "blockHash" from finished
      where chain = $1 and waiver = $2 and waiver_nonce is not null and id >= recent_outcomes()
      order by waiver_nonce desc limit 1)
     union all
     (select old_nonce, old_block_number, old_block_hash from lanes
      where chain = $1 and waiver = $2 and old_nonce is not null)
     order by "waiverNonce" desc limit 1`,
    [chain, waiver],
  );
  return last;
}

/** The submissions that are searched, so that the time does not depend on what is stored. */
const SEARCHED = 1_000;

/** Finds the lane's inclusion in the highest block, among the newest submissions of the chain. */
export async function findNewestInclusion(
  { pool }: Store,
  { chain, waiver }: Pick<HeldLane, "chain" | "waiver">,
): Promise<RecordedInclusion | undefined> {
  const [newest] = await readRows<RecordedInclusion>(
    pool,
    `select waiver_nonce as "waiverNonce", block_number as "blockNumber", block_hash as "blockHash" from (
       (select chain, state, waiver, block_number, block_hash, waiver_nonce from finished
        where id >= recent_outcomes() order by id desc limit $3)
       union all
       (select chain, state, waiver, block_number, block_hash, waiver_nonce from unfinished order by id desc limit $3)) newest
     where chain = $1 and waiver = $2 and state = 'included' order by block_number desc limit 1`,
    [chain, waiver, SEARCHED],
  );
  return newest;
}

/**
 * Stops a lane that takes work because the chain has lost final blocks. The wrappers of those blocks lose their nonces,
 * so that the lane can go on from the chain's nonce when it is opened again.
 * @param chainNonce the waiver's next nonce on the chain.
 * @returns false if the lane was not stopped, because it took no work any more.
 * @throws {@link LeaseLostError}
 */
export async function stopForLostBlocks(
  store: Store,
  lane: HeldLane,
  chainNonce: bigint,
  reason: string,
): Promise<boolean> {
  const changes = `${STOPPED}, old_nonce = case when old_nonce < $6 then old_nonce end`;
  const stopped = await updateLaneAsOwner(store, lane, changes, [reason, chainNonce.toString()], {
    condition: TAKES_WORK,
    rest: `, given_up as (
      update finished set waiver_nonce = null
      where chain = $1 and waiver = $2 and waiver_nonce >= $6 and exists (select from changed)
    )`,
  });
  return stopped !== undefined;
}

/** An included submission whose block a reorg may still remove. */
export interface UnfinalizedSubmission {
  readonly id: string;
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
}

/**
 * Finds the lane's submissions in blocks that are not final, the lowest block first.
 * @param blockFloor there are none in earlier blocks, by {@link LaneFloors}.
 */
export async function findUnfinalized(
  { pool }: Store,
  lane: HeldLane,
  limit: number,
  blockFloor = 0n,
): Promise<UnfinalizedSubmission[]> {
  return await readRows<UnfinalizedSubmission>(
    pool,
    `select id, block_number as "blockNumber", block_hash as "blockHash" from unfinished
     where chain = $1 and waiver = $2 and block_number >= $4 order by block_number limit $3`,
    [lane.chain, lane.waiver, limit, blockFloor.toString()],
  );
}
