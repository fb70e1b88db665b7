import { byteaArray, readRows } from "../database/statements.js";
import { doLongWork } from "../database/transaction.js";
import type { Store } from "../store.js";

/** The part of a day's caps that is reserved or used. */
export interface CapUse {
  readonly transactions: bigint;
  readonly gas: bigint;
}

/** The use of an API key today, by the database's clock. Counting starts when the key gets a cap. */
export interface DayUse {
  readonly all: CapUse;
  /** The use of each sender, in the order of the call. */
  readonly senders: readonly CapUse[];
  /** The end of the day. */
  readonly ends: Date;
}

/**
 * Reads the use of an API key today, in all and for some of its senders.
 * @param senders 20 bytes each.
 */
export async function findDayUse(
  { pool }: Pick<Store, "pool">,
  keyId: string,
  senders: readonly Uint8Array[] = [],
): Promise<DayUse> {
  const rows = await readRows<CapUse & { ends: Date }>(
    pool,
    `with today as (select (clock_timestamp() at time zone 'UTC')::date as day)
     select coalesce(sum(u.transactions), 0) as transactions, coalesce(sum(u.gas), 0) as gas,
            (t.day + 1)::timestamp at time zone 'UTC' as ends
     from today t cross join unnest($2::bytea[]) with ordinality as s (sender, place)
     left join lateral (
       select transactions, gas from cap_usage where key_id = $1 and day = t.day and sender = s.sender
       union all
       select transactions, gas from cap_outcomes
       where key_id = $1 and day = t.day and (s.sender = '' or sender = s.sender)
       union all
       (select transactions, gas from cap_reserved
        where s.sender = '' and key_id = $1 and day = t.day order by version desc limit 1)
     ) u on true
     group by t.day, s.place order by s.place`,
    [keyId, byteaArray([new Uint8Array(), ...senders])],
  );
  const [all = { transactions: 0n, gas: 0n }, ...ofSenders] = rows.map(({ ends: _, ...use }) => use);
  return { all, senders: ofSenders, ends: rows[0]?.ends ?? new Date(0) };
}

/** Deletes the counts of days that ended a week ago. A day may have millions of senders. */
export async function forgetOldCaps(store: Pick<Store, "pool">, signal: AbortSignal): Promise<void> {
  const OLD = "day < (clock_timestamp() at time zone 'UTC')::date - 7";
  await doLongWork(store, signal, async (db) => {
    for (const table of ["cap_usage", "cap_outcomes", "cap_reserved"])
      await db.query(`delete from ${table} where ${OLD}`);
  });
}
