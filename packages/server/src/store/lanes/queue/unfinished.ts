import type { Store } from "../../store.js";
import type { HeldLane } from "../heldLane.js";

/** A submission that is in no block and has not failed. */
export interface UnfinishedSubmission {
  readonly id: string;
  readonly state: "queued" | "signed" | "broadcast";
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** The number of wrappers that were signed for it; with 0 it cannot be on the chain through this service. */
  readonly signings: number;
  /** Undefined for a queued submission. */
  readonly waiverNonce?: bigint;
  /** 32 bytes; undefined for a queued submission. */
  readonly wrapperHash?: Uint8Array;
  /** None of its wrappers is in a block below this one. */
  readonly sinceBlock?: bigint;
}

export interface UnfinishedRow {
  id: string;
  state: UnfinishedSubmission["state"];
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
  signings: number;
  waiver_nonce: string | null;
  wrapper_hash: Buffer | null;
  since_block: string | null;
}

export const UNFINISHED_COLUMNS = [
  ...["id", "state", "inner_hash", "sender", "sender_nonce", "signings"],
  ...["waiver_nonce", "wrapper_hash", "since_block"],
] as const satisfies readonly (keyof UnfinishedRow)[];

/** Finds the unfinished submissions of a lane with an id above `after`, in the order of their ids. */
export async function findUnfinished(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  after: string,
  limit: number,
): Promise<UnfinishedSubmission[]> {
  const { rows } = await pool.query<UnfinishedRow>(
    `select ${UNFINISHED_COLUMNS.join(", ")} from unfinished
     where chain = $1 and waiver = $2 and state in ('queued', 'signed', 'broadcast') and id > $3
     order by id limit $4`,
    [lane.chain, lane.waiver, after, limit],
  );
  return rows.map(unfinishedOf);
}

export function unfinishedOf(row: UnfinishedRow): UnfinishedSubmission {
  return {
    id: row.id,
    state: row.state,
    innerHash: row.inner_hash,
    sender: row.sender,
    senderNonce: BigInt(row.sender_nonce),
    signings: row.signings,
    ...(row.waiver_nonce !== null && { waiverNonce: BigInt(row.waiver_nonce) }),
    ...(row.wrapper_hash !== null && { wrapperHash: row.wrapper_hash }),
    ...(row.since_block !== null && { sinceBlock: BigInt(row.since_block) }),
  };
}

/**
 * True while the lane has a submission that is queued, signed or broadcast. With `reorgsMayCome`, also while it has one in a block
 * that is not final: a submission moves between the two, so one statement asks for both.
 */
export async function hasUnfinished(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  { reorgsMayCome }: { readonly reorgsMayCome: boolean },
): Promise<boolean> {
  const { rows } = await pool.query(
    "select from unfinished where chain = $1 and waiver = $2 and (state <> 'included' or $3) limit 1",
    [lane.chain, lane.waiver, reorgsMayCome],
  );
  return rows.length > 0;
}
