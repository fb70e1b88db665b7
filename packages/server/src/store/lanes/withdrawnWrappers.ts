import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import type { HeldLane } from "./heldLane.js";

/** A wrapper that its submission has no longer: the submission was queued again, failed, or carried by another wrapper. */
export interface WithdrawnWrapper {
  readonly waiverNonce: bigint;
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
}

/** Finds the withdrawn wrappers of the lane under these waiver nonces. */
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
 * Deletes withdrawn wrappers whose nonce the chain has used and no signed or broadcast submission of the lane can meet
 * any more.
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
