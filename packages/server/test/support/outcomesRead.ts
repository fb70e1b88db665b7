import type { Queryable } from "../../src/store/store.js";

/**
 * Inserts 500 outcomes of other senders into a day.
 * @param idOfDay the id of a submission of that day.
 */
export async function insertOutcomes(pool: Queryable, chain: number, idOfDay: string): Promise<void> {
  await pool.query(
    `insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, signings, accepted_at)
     select ($2::text || lpad(to_hex(n), 12, '0'))::uuid, $1, 'key', 'included', '', decode(lpad(to_hex(n), 40, '0'), 'hex'),
            0, '', '', 1, now()
     from generate_series(1, 500) n`,
    [chain, idOfDay.slice(0, 24)],
  );
}

/** Returns the number of outcomes that the connection's open transaction has read, along indexes or not. */
export async function outcomesRead(pool: Queryable): Promise<number> {
  const { rows } = await pool.query<{ read: string }>(
    `select sum(seq_tup_read + idx_tup_read) as read from pg_stat_xact_user_tables t
     join pg_inherits on inhrelid = relid cross join lateral (
       select sum(pg_stat_get_xact_tuples_returned(indexrelid)) as idx_tup_read from pg_index where indrelid = relid) i
     where inhparent = 'finished'::regclass`,
  );
  return Number(rows[0]?.read);
}
