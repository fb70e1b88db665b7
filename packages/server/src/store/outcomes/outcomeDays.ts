import { StartError } from "../../model/errors.js";
import type { Pool, PooledConnection, Queryable } from "../database/database.js";
import { advisoryLock } from "../database/sharedDatabase.js";
import { databaseNow } from "../database/statements.js";
import { doLongWork, inLockedTransaction } from "../database/transaction.js";

/** A partition of `finished` as the store knows it. */
export interface OutcomeDay {
  /** The day of its ids in UTC, such as 2030-01-31; the last one where it has several. */
  readonly day: string;
  readonly partition: string;
  readonly endId: string;
  /** It was decided to drop it: for less than a minute, or for longer. */
  readonly closed: "no" | "just now" | "for a while";
  /** `detaching`: a session was interrupted while it detached the partition. */
  readonly state: "attached" | "detaching" | "detached" | "dropped";
}

/** Names the partition in a statement's text. @throws if it is not the name of one. */
export function partitionName({ partition }: Pick<OutcomeDay, "partition">): string {
  if (!/^finished_[a-z0-9]+$/.test(partition)) throw new Error(`${partition} is no partition of outcomes`);
  return partition;
}

/** Finds the oldest day that has been over for so many days and is not summarized. */
export async function findDayToSummarize(
  db: Queryable,
  daysOver: number,
): Promise<Pick<OutcomeDay, "day" | "partition"> | undefined> {
  const { rows } = await db.query<{ day: string; partition: string }>(
    `select day::text, partition from finished_days
     where summarized_at is null and end_id <= first_id_of((now() at time zone 'UTC')::date - $1::int)
     order by first_id limit 1`,
    [daysOver],
  );
  return rows[0];
}

/** Finds the summarized days that ended longer than `retentionMs` ago and those that are being dropped, the oldest first. */
export async function findOldDays(db: Queryable, retentionMs: number): Promise<OutcomeDay[]> {
  const { rows } = await db.query<OutcomeDay>(
    `select day::text, partition, end_id as "endId",
            case when closed_at is null then 'no' when closed_at > now() - interval '1 minute' then 'just now'
                 else 'for a while' end as closed,
            case when to_regclass(partition) is null then 'dropped' when i.inhrelid is null then 'detached'
                 when i.inhdetachpending then 'detaching' else 'attached' end as state
     from finished_days left join pg_inherits i on i.inhrelid = to_regclass(partition)
     where closed_at is not null or (summarized_at is not null
       and end_id <= first_id_of(((now() - $1::float8 * interval '1 millisecond') at time zone 'UTC')::date))
     order by first_id`,
    [retentionMs],
  );
  return rows;
}

/** Finds the oldest day whose outcomes are kept. */
export async function findOldestDay(db: Queryable): Promise<string | undefined> {
  const { rows } = await db.query<{ day: string }>(
    "select day::text from finished_days where closed_at is null order by first_id limit 1",
  );
  return rows[0]?.day;
}

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

/** A statement gives way when it waits this long for another session. */
const LOCK_TIMEOUT = "2s";

/** Runs work on the partitions of outcomes, which may take long, unless another session does such work. */
export async function withPartitionsLock(
  { pool }: { readonly pool: Pool },
  signal: AbortSignal,
  run: (db: PooledConnection) => Promise<void>,
): Promise<void> {
  const lock = advisoryLock(pool, PARTITIONS_LOCK);
  await doLongWork({ pool }, signal, async (db) => {
    const { rows } = await db.query<{ locked: boolean }>("select pg_try_advisory_lock($1) as locked", [lock]);
    if (rows[0]?.locked !== true) return;
    await db.query(`set lock_timeout = '${LOCK_TIMEOUT}'`);
    await run(db);
    await db.query("reset lock_timeout");
    await db.query("select pg_advisory_unlock($1)", [lock]);
  });
}
