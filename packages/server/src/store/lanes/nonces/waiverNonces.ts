import type { Store } from "../../store.js";
import { toBuffer } from "../../submissionRow.js";
import type { HeldLane } from "../heldLane.js";
import { ABOVE_FLOOR } from "./nonceFloor.js";

/** A waiver nonce that a signed or broadcast submission holds. */
export interface AssignedNonce {
  readonly id: string;
  readonly state: "signed" | "broadcast";
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
  readonly waiverNonce: bigint;
  /** The address in hex, without 0x. */
  readonly sender: string;
}

/** Finds the waiver nonces that signed and broadcast submissions of the lane hold, ascending. */
export async function findAssignedNonces(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
): Promise<AssignedNonce[]> {
  const { rows } = await pool.query<{
    id: string;
    state: AssignedNonce["state"];
    wrapper_hash: Buffer;
    waiver_nonce: string;
    sender: string;
  }>(
    `select id, state, wrapper_hash, waiver_nonce, encode(sender, 'hex') as sender from unfinished
     where chain = $1 and waiver = $2 and ${ABOVE_FLOOR} and state in ('signed', 'broadcast') order by waiver_nonce`,
    [lane.chain, toBuffer(lane.waiver)],
  );
  return rows.map(({ id, state, wrapper_hash: wrapperHash, waiver_nonce, sender }) => ({
    id,
    state,
    wrapperHash,
    waiverNonce: BigInt(waiver_nonce),
    sender,
  }));
}

/**
 * Finds the lowest waiver nonce that may be free: the chain's next nonce, or the one above the highest nonce that the
 * store has in a block. A node may answer with a lower nonce than before.
 * @param chainNonce the waiver's next nonce by the node's answer.
 */
export async function findFirstUnusedNonce(
  { pool }: Store,
  lane: HeldLane,
  chainNonce: bigint,
): Promise<bigint> {
  const { rows } = await pool.query<{ next: string | null }>(
    `select greatest(
       highest_final_nonce($1, $2),
       (select max(waiver_nonce) from unfinished
        where chain = $1 and waiver = $2 and ${ABOVE_FLOOR} and state = 'included')) + 1 as next`,
    [lane.chain, toBuffer(lane.waiver)],
  );
  const next = BigInt(rows[0]?.next ?? 0);
  return next > chainNonce ? next : chainNonce;
}
