import type { Queryable, Store } from "../../store.js";
import { toBuffer } from "../../submissionRow.js";
import type { HeldLane } from "../heldLane.js";
import { ABOVE_FLOOR } from "./nonceFloor.js";

/**
 * A wrapper that is no longer the submission's own: the submission was queued again, has failed, or has another wrapper.
 */
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

/** Remembers a transaction of the waiver's own that an operator sends, so that its lane knows it. */
export async function rememberOwnTransaction(
  { pool }: { readonly pool: Queryable },
  lane: Pick<HeldLane, "chain" | "waiver">,
  { waiverNonce, wrapperHash }: WithdrawnWrapper,
): Promise<void> {
  await pool.query(
    `insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [lane.chain, toBuffer(lane.waiver), waiverNonce.toString(), toBuffer(wrapperHash)],
  );
}

/** Counts the withdrawn wrappers of these submissions that may still land, by the id of the submission. */
export async function countOpenWrappers(
  { pool }: Store,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map();
  const { rows } = await pool.query<{ open_for: string; count: number }>(
    "select open_for, count(*)::int as count from withdrawn where open_for = any($1::uuid[]) group by open_for",
    [ids],
  );
  return new Map(rows.map(({ open_for, count }) => [open_for, count]));
}

/** Closes withdrawn wrappers that can never land: other transactions have used their nonces. */
export async function closeWithdrawnWrappers(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  wrappers: readonly WithdrawnWrapper[],
): Promise<void> {
  if (wrappers.length === 0) return;
  await pool.query(
    `update withdrawn set open_for = null
     where chain = $1 and waiver = $2 and wrapper_hash = any($3::bytea[])`,
    [lane.chain, toBuffer(lane.waiver), wrappers.map(({ wrapperHash }) => toBuffer(wrapperHash))],
  );
}

/**
 * Deletes withdrawn wrappers that are not open, and whose nonces are below the waiver's nonce and below those of all
 * signed and broadcast submissions of the lane.
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
       where chain = $1 and waiver = $2 and ${ABOVE_FLOOR} and state in ('signed', 'broadcast')))
     and not exists (select from unfinished u where u.id = open_for)`,
    [lane.chain, toBuffer(lane.waiver), chainNonce.toString()],
  );
}
