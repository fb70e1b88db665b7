import type { Store } from "../../store.js";
import { toBuffer } from "../../submissionRow.js";
import type { HeldLane } from "../heldLane.js";

/** An included submission whose block a reorg may still remove. */
export interface UnfinalizedSubmission {
  readonly id: string;
  readonly innerHash: Uint8Array;
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
  const { rows } = await pool.query<{
    id: string;
    inner_hash: Buffer;
    block_number: string;
    block_hash: Buffer;
  }>(
    `select id, inner_hash, block_number, block_hash from unfinished
     where chain = $1 and waiver = $2 and block_number >= $4 order by block_number limit $3`,
    [lane.chain, toBuffer(lane.waiver), limit, blockFloor.toString()],
  );
  return rows.map(({ id, inner_hash: innerHash, block_number, block_hash: blockHash }) => ({
    id,
    innerHash,
    blockNumber: BigInt(block_number),
    blockHash,
  }));
}
