import { StartError } from "../../model/errors.js";
import type { Pool, Queryable } from "../database/database.js";
import { databaseNow } from "../database/databaseNow.js";
import { inLockedTransaction } from "../database/transaction.js";

/** The advisory lock that lets one session at a time change the partitions of `finished`. */
export const PARTITIONS_LOCK = 0x6761_7370;

/** The days ahead that have a partition: a clock may be wrong by so much, and making days fail for so long. */
const DAYS_AHEAD = 2;
const DAY_MS = 86_400_000;

/**
 * Makes the partitions of outcomes that are missing, up to some days ahead by the database's clock. Where that is further from
 * this machine's clock than the days ahead, it makes none: one that is wrong for a minute would leave a partition of weeks. Requests do not wait for it. The caller holds the lock of the partitions.
 * @returns the difference of the clocks, in ms.
 */
export async function createDaysAhead(db: Queryable, now: () => number = Date.now): Promise<number> {
  const apartMs = Math.abs((await databaseNow({ pool: db })).getTime() - now());
  if (apartMs < DAYS_AHEAD * DAY_MS) await db.query("select create_finished_days($1)", [DAYS_AHEAD]);
  return apartMs;
}

/**
 * Makes the partitions of outcomes at a start, unless there are enough for the next hours.
 * @throws {@link StartError} if the role may not make any, which would stop the service days later.
 */
export async function createDaysAtStart({ pool }: { readonly pool: Pool }): Promise<void> {
  const { rows } = await pool.query<{ enough: boolean; allowed: boolean }>(
    `select end_id > first_id_of((now() at time zone 'UTC')::date + 1)
              and not exists (select from finished_days where closed_at is null and to_regclass(partition) is null) as enough,
            (select pg_has_role(t.relowner, 'usage') and pg_has_role(f.proowner, 'usage')
                    and has_schema_privilege(t.relnamespace, 'create') from pg_class t, pg_proc f
             where t.oid = 'finished'::regclass and f.oid = 'recent_outcomes()'::regprocedure) as allowed
     from finished_range`,
  );
  if (rows[0]?.allowed === false) {
    throw new StartError(
      "the database's user does not own the tables and functions of the store, or may not create tables in their schema; the service makes and drops the partitions of outcomes itself: give them to the user (alter … owner to), and grant create on the schema",
    );
  }
  if (rows[0]?.enough !== true)
    await inLockedTransaction({ pool }, PARTITIONS_LOCK, (db) => createDaysAhead(db));
}
