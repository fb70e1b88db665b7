import { byteaArray, readRows } from "../../database/statements.js";
import { innerTxColumns, type StoredInnerTx } from "../../innerTxColumns.js";
import type { Store } from "../../store.js";
import { type HeldLane, LEASE_IS_HELD, updateLaneAsOwner, writeAsOwner } from "../heldLane.js";

/** Finds the waiver nonce below which the lane has accounted for all; undefined if it has never looked. */
export async function findKnownBelow(
  { pool }: Store,
  { chain, waiver }: Pick<HeldLane, "chain" | "waiver">,
): Promise<bigint | undefined> {
  const sql = "select known_below as known from lanes where chain = $1 and waiver = $2";
  const [lane] = await readRows<{ known?: bigint }>(pool, sql, [chain, waiver]);
  return lane?.known;
}

/**
 * All waiver nonces below this one are accounted for.
 * @throws {@link LeaseLostError}
 */
export async function raiseKnownBelow(store: Store, lane: HeldLane, nonce: bigint): Promise<void> {
  await updateLaneAsOwner(store, lane, "known_below = greatest(known_below, $5)", [nonce.toString()]);
}

/** A wrapper of this lane that the store has lost, as the chain has it. */
export interface LostWrapper extends StoredInnerTx {
  readonly waiverNonce: bigint;
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
  /** The id that its submission gets if the store has none for the InnerTx. */
  readonly id: string;
}

/** A search covers this many nonces below the chain's next nonce. */
const SEARCHED_NONCES = 5_000n;
/** The maximum number of nonces that one search returns. */
const FOUND_NONCES = 50;

/**
 * Finds nonces of the waiver that the chain has used while the store does not know by which wrapper, the highest first. A
 * withdrawn wrapper tells nothing: another one may have landed under its nonce.
 * @param range `below`: the chain's next nonce. `except`: nonces that are left out.
 */
export async function findUnknownNonces(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  { from, below, except }: { from: bigint; below: bigint; except: Iterable<bigint> },
): Promise<bigint[]> {
  const lowest = below - SEARCHED_NONCES > from ? below - SEARCHED_NONCES : from;
  const unknown = await readRows<{ nonce: bigint }>(
    pool,
    `select nonce from generate_series($3::bigint, $4::bigint - 1) as nonce
     where nonce <> all($5::bigint[])
       and nonce not in (
         select waiver_nonce from finished
         where chain = $1 and waiver = $2 and waiver_nonce >= $3::bigint and waiver_nonce < $4::bigint)
       and not exists (select from unfinished where chain = $1 and waiver = $2 and waiver_nonce = nonce)
     order by nonce desc limit ${FOUND_NONCES}`,
    [lane.chain, lane.waiver, lowest.toString(), below.toString(), [...except].map(String)],
  );
  return unknown.map(({ nonce }) => nonce);
}

/** Finds those whose InnerTx the store has, unfinished or included. */
export async function findKnownInnerTxs<T extends StoredInnerTx>(
  { pool }: Store,
  { chain }: Pick<HeldLane, "chain">,
  transactions: readonly T[],
): Promise<T[]> {
  const { rows } = await pool.query<{ place: number }>(
    `select t.place::int from unnest($2::bytea[], $3::numeric[], $4::bytea[]) with ordinality as t (sender, nonce, hash, place)
     where exists (select from unfinished u
                   where u.sender = t.sender and u.sender_nonce = t.nonce and u.chain + 0 = $1 and u.inner_hash = t.hash)
        or exists (select from find_included($1, $2, $3) f where f.inner_hash = t.hash)`,
    [
      chain,
      byteaArray(transactions.map(({ sender }) => sender)),
      transactions.map(({ senderNonce }) => senderNonce.toString()),
      byteaArray(transactions.map(({ innerHash }) => innerHash)),
    ],
  );
  return transactions.filter((_, i) => rows.some(({ place }) => place === i + 1));
}

/**
 * Stores lost wrappers again. Each becomes a queued submission with an open wrapper, so that the lane's law decides its
 * outcome as for any other. A submission of the same InnerTx that has come meanwhile gets the wrapper; an
 * InnerTx that is finished, or whose sender's nonce has another submission, is left alone.
 * @returns the ids of the submissions that got a wrapper.
 * @throws {@link LeaseLostError}
 */
export async function adoptWrappers(
  store: Store,
  lane: HeldLane,
  lost: readonly LostWrapper[],
): Promise<string[]> {
  const adopted = await writeAsOwner(
    store,
    lane,
    lost.map(({ id }) => id),
    ADOPT,
    [
      lost.map(({ waiverNonce }) => waiverNonce.toString()),
      byteaArray(lost.map(({ wrapperHash }) => wrapperHash)),
      ...Object.values(innerTxColumns(lost)),
    ],
  );
  return adopted.map(({ id }) => id);
}

/** The API keys of these submissions are lost: any key that sends the InnerTx again may read them (D18). */
const ADOPT = `, lost as (
    select * from unnest($5::uuid[], $6::bigint[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[], $11::numeric[],
                         $12::bytea[], $13::bytea[])
      as l (id, nonce, hash, inner_hash, inner_raw, sender, sender_nonce, target, selector)
    where ${LEASE_IS_HELD}
  ), adopted as (
    insert into unfinished as u (chain, origin, key_id, waiver, signings, id, inner_hash, inner_raw, sender,
                                 sender_nonce, target, selector)
    select $1, $3, '', $2, 1, id, inner_hash, inner_raw, sender, sender_nonce, target, selector from lost
    where not exists (select from find_included($1, $10, $11) f
                      where f.sender = lost.sender and f.sender_nonce = lost.sender_nonce)
    on conflict (sender, sender_nonce, (chain + 0)) do update set signings = greatest(u.signings, 1)
      where u.inner_hash = excluded.inner_hash
    returning u.id, u.origin, u.inner_hash
  ), remembered as (
    insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash, open_for)
    select $1, $2, lost.nonce, lost.hash, adopted.id from lost join adopted using (inner_hash)
    on conflict (chain, waiver, waiver_nonce, wrapper_hash) do update
      set open_for = coalesce(withdrawn.open_for, excluded.open_for)
  )
  select id, origin from adopted`;
