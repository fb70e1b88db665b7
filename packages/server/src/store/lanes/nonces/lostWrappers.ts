import { byteaArray } from "../../database/statements.js";
import { innerTxColumns, type StoredInnerTx } from "../../innerTxColumns.js";
import type { Store } from "../../store.js";
import { toBuffer } from "../../submissionRow.js";
import { type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../heldLane.js";

/** A wrapper of this lane that the store has lost, as the chain has it. */
export interface LostWrapper extends StoredInnerTx {
  readonly waiverNonce: bigint;
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
  /** The id that its submission gets if the store has none for the InnerTx. */
  readonly id: string;
}

/** A search covers this many nonces below the chain's next nonce. */
const SEARCHED_NONCES = 5_000;
/** The maximum number of nonces that one search returns. */
const FOUND_NONCES = 50;

/**
 * Finds nonces of the waiver that the chain has used while the store does not know by which wrapper, the highest first. A
 * withdrawn wrapper tells nothing: another one may have landed under its nonce.
 */
export async function findUnknownNonces(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  chainNonce: bigint,
  except: readonly bigint[],
): Promise<bigint[]> {
  const { rows } = await pool.query<{ nonce: string }>(
    `select nonce from generate_series(greatest(0, $3::bigint - ${SEARCHED_NONCES}), $3::bigint - 1) as nonce
     where nonce <> all($4::bigint[])
       and nonce not in (
         select waiver_nonce from finished
         where chain = $1 and waiver = $2 and waiver_nonce >= $3::bigint - ${SEARCHED_NONCES} and waiver_nonce < $3::bigint)
       and not exists (select from unfinished where chain = $1 and waiver = $2 and waiver_nonce = nonce)
     order by nonce desc limit ${FOUND_NONCES}`,
    [lane.chain, toBuffer(lane.waiver), chainNonce.toString(), except.map(String)],
  );
  return rows.map(({ nonce }) => BigInt(nonce));
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
