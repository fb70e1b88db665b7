import { readRows } from "../../database/statements.js";
import type { Queryable, Store } from "../../store.js";
import type { HeldLane } from "../heldLane.js";
import { UNFINISHED_COLUMNS, type UnfinishedSubmission } from "../queue/unfinished.js";
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
  return await readRows<WithdrawnWrapper>(
    pool,
    `select waiver_nonce as "waiverNonce", wrapper_hash as "wrapperHash" from withdrawn
     where chain = $1 and waiver = $2 and waiver_nonce = any($3::bigint[])`,
    [lane.chain, lane.waiver, nonces.map(String)],
  );
}

/**
 * Remembers a transaction of the waiver that is no wrapper of its lane, so that the lane knows it.
 * @returns false if it was known.
 */
export async function rememberTransaction(
  { pool }: { readonly pool: Queryable },
  lane: Pick<HeldLane, "chain" | "waiver">,
  { waiverNonce, wrapperHash }: WithdrawnWrapper,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [lane.chain, lane.waiver, waiverNonce.toString(), wrapperHash],
  );
  return rowCount === 1;
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
    [lane.chain, lane.waiver, wrappers.map(({ wrapperHash }) => wrapperHash)],
  );
}

/**
 * Deletes withdrawn wrappers that are not open, and whose nonces are accounted for and below those of all signed and broadcast
 * submissions of the lane.
 */
export async function forgetWithdrawnWrappers(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
): Promise<void> {
  await pool.query(
    `delete from withdrawn w using lanes l where l.chain = $1 and l.waiver = $2 and w.chain = $1 and w.waiver = $2
     and w.waiver_nonce < least(l.known_below, (
       select min(waiver_nonce) from unfinished
       where chain = $1 and waiver = $2 and ${ABOVE_FLOOR} and state in ('signed', 'broadcast')))
     and l.known_below is not null
     and not exists (select from unfinished u where u.id = open_for)`,
    [lane.chain, lane.waiver],
  );
}

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

interface DoubtedRow extends UnfinishedSubmission {
  readonly doubtedNonce: bigint;
  readonly doubtedHash: Uint8Array;
  readonly doubtedSince?: bigint;
  readonly isOpen: boolean;
}

/** Finds what the lane has in flight in a range of waiver nonces, and its open wrappers. */
export async function findDoubtedWrappers(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  { from, below, openBeyond = false, first, limit }: NonceRange,
): Promise<DoubtedWrapper[]> {
  const values = [lane.chain, lane.waiver, String(from), String(below), limit, openBeyond];
  const rows = await readRows<DoubtedRow>(pool, DOUBTED[first], values);
  return rows.map(({ doubtedNonce, doubtedHash, doubtedSince, isOpen, ...submission }) => ({
    waiverNonce: doubtedNonce,
    wrapperHash: doubtedHash,
    isOpen,
    ...(doubtedSince !== undefined && { sinceBlock: doubtedSince }),
    submission,
  }));
}

// A subquery of one value: for "exists", the planner may read all of unfinished at once.
const selectDoubted = (order: "asc" | "desc") => `
  select "doubtedNonce", "doubtedHash", "doubtedSince", "isOpen", ${UNFINISHED_COLUMNS} from (
    (select id as doubted, waiver_nonce as "doubtedNonce", wrapper_hash as "doubtedHash", since_block as "doubtedSince",
            false as "isOpen" from unfinished
     where chain = $1 and waiver = $2 and ${ABOVE_FLOOR} and state in ('signed', 'broadcast')
       and waiver_nonce >= $3 and waiver_nonce < $4
     order by waiver_nonce ${order} limit $5)
    union all
    (select open_for, waiver_nonce, wrapper_hash, since_block, true from withdrawn
     where chain = $1 and waiver = $2 and open_for is not null and waiver_nonce >= $3 and (waiver_nonce < $4 or $6)
       and (select state <> 'included' from unfinished where id = open_for)
     order by waiver_nonce ${order} limit $5)) d
  join unfinished on id = doubted
  order by "doubtedNonce" ${order} limit $5`;
const DOUBTED = { lowest: selectDoubted("asc"), highest: selectDoubted("desc") };
