import { byteaArray, prepared } from "../../database/statements.js";
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

/** Finds the wrapper with the highest waiver nonce that the store knows in a final block. */
export async function findLastFinalInclusion(
  store: Store,
  { chain, waiver }: Pick<HeldLane, "chain" | "waiver">,
): Promise<FinalInclusion | undefined> {
  const [inclusion] = await findLastFinalInclusions(store, chain, [waiver]);
  return inclusion;
}

/** Finds the same for several lanes, in the order of their waivers; undefined for a lane without one. */
export async function findLastFinalInclusions(
  { pool }: Store,
  chain: number,
  waivers: readonly Uint8Array[],
): Promise<(FinalInclusion | undefined)[]> {
  const { rows } = await pool.query<{
    place: string;
    waiver_nonce: string;
    block_number: string;
    block_hash: Buffer;
  }>(
    prepared(
      `select w.place, last.* from unnest($2::bytea[]) with ordinality as w (waiver, place) cross join lateral (
         (select f.waiver_nonce, f.block_number, f.block_hash from finished f
          where f.chain = $1 and f.waiver = w.waiver and f.waiver_nonce is not null and f.id >= recent_outcomes()
          order by f.waiver_nonce desc limit 1)
         union all
         select l.old_nonce, l.old_block_number, l.old_block_hash from lanes l
         where l.chain = $1 and l.waiver = w.waiver and l.old_nonce is not null
         order by waiver_nonce desc limit 1) last`,
      [chain, byteaArray(waivers)],
    ),
  );
  const inclusions = new Array<FinalInclusion | undefined>(waivers.length).fill(undefined);
  for (const row of rows) {
    inclusions[Number(row.place) - 1] = {
      waiverNonce: BigInt(row.waiver_nonce),
      blockNumber: BigInt(row.block_number),
      blockHash: row.block_hash,
    };
  }
  return inclusions;
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
