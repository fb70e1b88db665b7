import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import type { HeldLane } from "./heldLane.js";

/** A wrapper of the lane in a block that was final. */
export interface FinalInclusion {
  readonly waiverNonce: bigint;
  readonly blockNumber: bigint;
  /** 32 bytes. */
  readonly blockHash: Uint8Array;
}

/** Finds the wrapper with the highest waiver nonce that the store knows in a final block. */
export async function findLastFinalInclusion(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
): Promise<FinalInclusion | undefined> {
  const { rows } = await pool.query<{ waiver_nonce: string; block_number: string; block_hash: Buffer }>(
    `select waiver_nonce, block_number, block_hash from finished
     where chain = $1 and waiver = $2 and waiver_nonce is not null
     order by waiver_nonce desc limit 1`,
    [lane.chain, toBuffer(lane.waiver)],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    waiverNonce: BigInt(row.waiver_nonce),
    blockNumber: BigInt(row.block_number),
    blockHash: row.block_hash,
  };
}

/**
 * Stops a lane that takes work because the chain has lost final blocks. The wrappers of those blocks lose their nonces,
 * so that the lane can go on from the chain's nonce when it is opened again.
 * @param chainNonce the waiver's next nonce on the chain.
 * @returns false if the lane was not stopped, because it took no work any more.
 */
export async function stopForLostBlocks(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  chainNonce: bigint,
  reason: string,
): Promise<boolean> {
  const { rows } = await pool.query<{ stopped: boolean }>(
    `with stopped as (
       update lanes set state = 'stopped', reason = $4, broken_until = '-infinity'
       where chain = $1 and waiver = $2 and state in ('open', 'draining') returning 1
     ), given_up as (
       update finished set waiver_nonce = null
       where chain = $1 and waiver = $2 and waiver_nonce >= $3 and exists (select from stopped)
     ) select exists (select from stopped) as stopped`,
    [lane.chain, toBuffer(lane.waiver), chainNonce.toString(), reason],
  );
  return rows[0]?.stopped === true;
}
