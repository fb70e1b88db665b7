import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { Store } from "../../store.js";
import type { FinalInclusion } from "./finalInclusions.js";

/** An inclusion whose waiver nonce the lane may have given up. */
export interface RecordedInclusion extends Pick<FinalInclusion, "blockNumber" | "blockHash"> {
  readonly waiverNonce: bigint | undefined;
}

/** The submissions that are searched, so that the time does not depend on what is stored. */
const SEARCHED = 1_000;

/** Finds for each waiver the highest block among the newest submissions of the chain. */
export async function findNewestInclusions(
  { pool }: Store,
  chain: number,
): Promise<ReadonlyMap<Hex, RecordedInclusion>> {
  const { rows } = await pool.query<{
    waiver: Buffer;
    block_number: string;
    block_hash: Buffer;
    waiver_nonce: string | null;
  }>(
    `select distinct on (waiver) waiver, block_number, block_hash, waiver_nonce from (
       (select chain, state, waiver, block_number, block_hash, waiver_nonce from finished
        where id >= recent_outcomes() order by id desc limit $2)
       union all
       (select chain, state, waiver, block_number, block_hash, waiver_nonce from unfinished order by id desc limit $2)) newest
     where chain = $1 and state = 'included' order by waiver, block_number desc`,
    [chain, SEARCHED],
  );
  return new Map(
    rows.map((row) => [
      bytesToHex(row.waiver),
      {
        blockNumber: BigInt(row.block_number),
        blockHash: row.block_hash,
        waiverNonce: row.waiver_nonce === null ? undefined : BigInt(row.waiver_nonce),
      },
    ]),
  );
}
