import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { byteaArray, prepared, readRows } from "../database/statements.js";
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
  const rows = await readRows<{ nonce: bigint }>(
    pool,
    `select sender_nonce as nonce from unfinished where chain = $1 and sender = $2 and sender_nonce >= $3
     order by sender_nonce limit ${HELD_NONCES_PER_PAGE}`,
    [chain, sender, from],
  );
  return rows.map(({ nonce }) => nonce);
}

/** The transaction of an unfinished submission, as the user signed it. */
export interface HeldTransaction {
  /** The id of the submission. */
  readonly id: string;
  /** A block has executed it that is not final. */
  readonly isIncluded: boolean;
  readonly innerRaw: Uint8Array;
  /** 20 bytes. */
  readonly sender: Uint8Array;
}

/**
 * Finds the transactions of unfinished submissions, of any API key: whoever knows the hash may know the transaction, as on
 * every node. No index has the hashes, because each step of each submission would pay for it: the query
 * reads the whole queue, which takes 1.4 ms where it has 10,000 submissions. So callers share it.
 * @returns by their hashes; unknown ones are left out.
 */
export async function findHeldTransactions(
  { pool }: Store,
  chain: number,
  innerHashes: readonly Uint8Array[],
): Promise<ReadonlyMap<Hex, HeldTransaction>> {
  const { rows } = await pool.query<HeldTransaction & { innerHash: Buffer }>(
    prepared(
      `select id, state = 'included' as "isIncluded", inner_hash as "innerHash", inner_raw as "innerRaw", sender from unfinished
       where chain = $1 and inner_hash = any($2::bytea[])`,
      [chain, byteaArray(innerHashes)],
    ),
  );
  return new Map(rows.map(({ innerHash, ...held }) => [bytesToHex(innerHash), held]));
}
