import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import type { HeldLane } from "./heldLane.js";

/** A waiver nonce that is taken, and by which submission. */
export interface AssignedNonce {
  readonly id: string;
  readonly waiverNonce: bigint;
  /** The address in hex. */
  readonly sender: string;
}

/** The waiver nonces of what the lane has signed or broadcast, ascending. */
export async function findAssignedNonces(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
): Promise<AssignedNonce[]> {
  const { rows } = await pool.query<{ id: string; waiver_nonce: string; sender: string }>(
    `select id, waiver_nonce, encode(sender, 'hex') as sender from unfinished
     where chain = $1 and waiver = $2 and waiver_nonce is not null and state in ('signed', 'broadcast') order by waiver_nonce`,
    [lane.chain, toBuffer(lane.waiver)],
  );
  return rows.map(({ id, waiver_nonce, sender }) => ({ id, waiverNonce: BigInt(waiver_nonce), sender }));
}

/**
 * The first waiver nonce that may be free: the chain's next, or the one after the highest that we saw in a block
 * (a node may lag behind what it told before).
 */
export async function findFirstFreeNonce(
  { pool }: Store,
  lane: HeldLane,
  chainNonce: bigint,
): Promise<bigint> {
  const { rows } = await pool.query<{ next: string | null }>(
    `select greatest(
       (select max(waiver_nonce) from finished where chain = $1 and waiver = $2 and waiver_nonce is not null),
       (select max(waiver_nonce) from unfinished
        where chain = $1 and waiver = $2 and waiver_nonce is not null and state = 'included')) + 1 as next`,
    [lane.chain, toBuffer(lane.waiver)],
  );
  const next = BigInt(rows[0]?.next ?? 0);
  return next > chainNonce ? next : chainNonce;
}
