import { prepared } from "../database/statements.js";
import type { Store } from "../store.js";

/** The most nonces of one answer. */
export const HELD_NONCES_PER_PAGE = 1_000;

/**
 * Finds the nonces of a sender's unfinished submissions, of any API key.
 * @param from the lowest nonce to look for.
 * @returns the lowest ones in order, {@link HELD_NONCES_PER_PAGE} at most.
 */
export async function findHeldNonces(
  { pool }: Store,
  chain: number,
  { sender, from }: { readonly sender: Uint8Array; readonly from: bigint },
): Promise<bigint[]> {
  const { rows } = await pool.query<{ sender_nonce: string }>(
    prepared(
      `select sender_nonce from unfinished where chain = $1 and sender = $2 and sender_nonce >= $3
       order by sender_nonce limit ${HELD_NONCES_PER_PAGE}`,
      [chain, sender, from.toString()],
    ),
  );
  return rows.map((row) => BigInt(row.sender_nonce));
}
