import type { Queryable } from "../database/database.js";

/** A session of another program, which holds a lock that sessions of the service wait for, or that they pass over. */
export interface Blocker {
  /** 0 for a transaction that was prepared and not ended, which belongs to no session. */
  readonly pid: number;
  readonly user: string | null;
  readonly application: string | null;
  /** Such as `idle in transaction`; null for a role that may not see it, and so for the statement. */
  readonly state: string | null;
  /** The beginning of its last statement. */
  readonly statement: string | null;
  /** The time in ms that a session of the service has waited for it, or since the transaction with the lock began. */
  readonly forMs: number;
}

/** Waits that are shorter are a matter of course. */
const MIN_WAIT = "interval '1 second'";

/**
 * PostgreSQL looks through all locks for each session that it is asked about, so it is asked about those alone that wait. All
 * sessions of this service, and of others like it, have names that begin alike, unless the URL names them.
 *
 * Leases wait for no locked row of a lane. But nobody else has to write or lock these rows, and who does so holds a lock of the table
 * until the transaction ends.
 */
const BLOCKER = `
  with own as materialized (
    select pid, wait_event_type, query_start from pg_stat_activity
    where datname = current_database()
      and (application_name like 'gas-waiver%' or application_name = current_setting('application_name'))
  ), waiting as materialized (
    select pid, clock_timestamp() - query_start as waits from own
    where wait_event_type = 'Lock' and clock_timestamp() - query_start > ${MIN_WAIT}
  )
, blocking as (
    select of.pid, w.waits from waiting w cross join lateral unnest(pg_blocking_pids(w.pid)) as of (pid)
    union all
    select coalesce(l.pid, 0), coalesce(clock_timestamp() - a.xact_start, ${MIN_WAIT})
    from pg_locks l left join pg_stat_activity a on a.pid = l.pid
    where l.relation = 'lanes'::regclass and l.database = (select oid from pg_database where datname = current_database())
      and l.granted and l.mode in ('RowShareLock', 'RowExclusiveLock') and (a.backend_type = 'client backend' or l.pid is null)
  )
  select w.pid, b.usename as user,
         case when w.pid = 0 then 'a prepared transaction: see pg_prepared_xacts' else b.application_name end as application,
         b.state, left(b.query, 100) as statement, (extract(epoch from w.waits) * 1000)::float8 as "forMs"
  from blocking w left join pg_stat_activity b on b.pid = w.pid
  where w.pid not in (select pid from own) and (b.pid is not null or w.pid = 0) and w.waits >= ${MIN_WAIT}
  order by w.waits desc limit 1`;

/** Finds the session of another program that has kept the service from its locks longest; undefined without one. */
export async function findBlocker(db: Queryable): Promise<Blocker | undefined> {
  return (await db.query<Blocker>(BLOCKER)).rows[0];
}
