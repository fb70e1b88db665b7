import type { Queryable } from "../database/database.js";

/** A session of another program, which holds a lock that sessions of the service wait for. */
export interface Blocker {
  readonly pid: number;
  readonly user: string | null;
  readonly application: string | null;
  /** Such as `idle in transaction`; null for a role that may not see it, and so for the statement. */
  readonly state: string | null;
  /** The beginning of its last statement. */
  readonly statement: string | null;
  /** The time in ms that a session of the service has waited for it. */
  readonly forMs: number;
}

/** Waits that are shorter are a matter of course. */
const MIN_WAIT = "interval '1 second'";

/**
 * PostgreSQL looks through all locks for each session that it is asked about, so it is asked about those alone that wait. All
 * sessions of this service, and of others like it, have names that begin alike, unless the URL names them.
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
  select b.pid, b.usename as user, b.application_name as application, b.state, left(b.query, 100) as statement,
         (extract(epoch from w.waits) * 1000)::float8 as "forMs"
  from waiting w cross join lateral unnest(pg_blocking_pids(w.pid)) as of (pid) join pg_stat_activity b on b.pid = of.pid
  where b.pid not in (select pid from own) order by w.waits desc limit 1`;

/** Finds the session of another program for which the service has waited longest; undefined without one. */
export async function findBlocker(db: Queryable): Promise<Blocker | undefined> {
  return (await db.query<Blocker>(BLOCKER)).rows[0];
}
