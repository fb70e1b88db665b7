import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import type { HeldLane } from "./heldLane.js";

/** A wrapper that its submission has no more. */
export interface WithdrawnWrapper {
  readonly waiverNonce: bigint;
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
}

/** The wrappers that the lane once signed under these nonces and took back. */
export async function findWithdrawnWrappers(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  nonces: readonly bigint[],
): Promise<WithdrawnWrapper[]> {
  const { rows } = await pool.query<{ waiver_nonce: string; wrapper_hash: Buffer }>(
    `select waiver_nonce, wrapper_hash from withdrawn
     where chain = $1 and waiver = $2 and waiver_nonce = any($3::bigint[])`,
    [lane.chain, toBuffer(lane.waiver), nonces.map(String)],
  );
  return rows.map(({ waiver_nonce, wrapper_hash: wrapperHash }) => ({
    waiverNonce: BigInt(waiver_nonce),
    wrapperHash,
  }));
}

/**
 * Forgets what is below everything that the lane has under way, and used on the chain: nothing can be displaced by it
 * any more, and it stands in nothing's way.
 * @param chainNonce the waiver's next nonce.
 */
export async function forgetWithdrawnWrappers(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  chainNonce: bigint,
): Promise<void> {
  await pool.query(
    `delete from withdrawn where chain = $1 and waiver = $2 and waiver_nonce < least($3, (
       select min(waiver_nonce) from unfinished
       where chain = $1 and waiver = $2 and waiver_nonce is not null and state in ('signed', 'broadcast')))`,
    [lane.chain, toBuffer(lane.waiver), chainNonce.toString()],
  );
}
