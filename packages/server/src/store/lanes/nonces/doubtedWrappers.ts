import { prepared } from "../../database/statements.js";
import type { Store } from "../../store.js";
import { toBuffer } from "../../submissionRow.js";
import type { HeldLane } from "../heldLane.js";
import {
  SUBMISSION_COLUMNS,
  submissionOf,
  type UnfinishedRow,
  type UnfinishedSubmission,
} from "../queue/unfinished.js";
import { ABOVE_FLOOR } from "./nonceFloor.js";
import type { WithdrawnWrapper } from "./withdrawnWrappers.js";

/** A wrapper of the lane whose submission has no outcome yet. */
export interface DoubtedWrapper extends WithdrawnWrapper {
  /** It is withdrawn and may still land. Its submission may have another wrapper, and be in another lane. */
  readonly isOpen: boolean;
  /** It is in no block below this one. */
  readonly sinceBlock?: bigint;
  readonly submission: UnfinishedSubmission;
}

/** A range of waiver nonces, which is read from one end. */
export interface NonceRange {
  readonly from: bigint;
  readonly below: bigint;
  /** Open wrappers are found beyond the range too. */
  readonly openBeyond?: boolean;
  readonly first: "lowest" | "highest";
  readonly limit: number;
}

interface DoubtedRow extends UnfinishedRow {
  doubted_nonce: string;
  doubted_hash: Buffer;
  doubted_since: string | null;
  is_open: boolean;
}

/** Finds what the lane has in flight in a range of waiver nonces, and its open wrappers. */
export async function findDoubtedWrappers(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  { from, below, openBeyond = false, first, limit }: NonceRange,
): Promise<DoubtedWrapper[]> {
  const { rows } = await pool.query<DoubtedRow>(
    prepared(DOUBTED[first], [
      ...[lane.chain, toBuffer(lane.waiver), String(from), String(below), limit],
      openBeyond,
    ]),
  );
  return rows.map((row) => ({
    waiverNonce: BigInt(row.doubted_nonce),
    wrapperHash: row.doubted_hash,
    isOpen: row.is_open,
    ...(row.doubted_since !== null && { sinceBlock: BigInt(row.doubted_since) }),
    submission: submissionOf(row),
  }));
}

// A subquery of one value: for "exists", the planner may read all of unfinished at once.
const selectDoubted = (order: "asc" | "desc") => `
  select d.*, ${SUBMISSION_COLUMNS.map((column) => `u.${column}`).join(", ")} from (
    (select id as doubted_id, waiver_nonce as doubted_nonce, wrapper_hash as doubted_hash, since_block as doubted_since,
            false as is_open from unfinished
     where chain = $1 and waiver = $2 and ${ABOVE_FLOOR} and state in ('signed', 'broadcast')
       and waiver_nonce >= $3 and waiver_nonce < $4
     order by waiver_nonce ${order} limit $5)
    union all
    (select open_for, waiver_nonce, wrapper_hash, since_block, true from withdrawn
     where chain = $1 and waiver = $2 and open_for is not null and waiver_nonce >= $3 and (waiver_nonce < $4 or $6)
       and (select state <> 'included' from unfinished where id = open_for)
     order by waiver_nonce ${order} limit $5)) d
  join unfinished u on u.id = d.doubted_id
  order by doubted_nonce ${order} limit $5`;
const DOUBTED = { lowest: selectDoubted("asc"), highest: selectDoubted("desc") };
