import type { Queryable } from "../database.js";

/** For this time after a move, a wrapper on the chain that the store does not know counts as lost by the store. */
const LOSS_ASSUMED_FOR = "1 hour";

const RECORD = `
  insert into database_servers (system, timeline)
  select system_identifier, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int
  from pg_control_system()
  on conflict do nothing`;

const MOVED = `
  select from database_servers present
  where (system, timeline) = (
      select system_identifier, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int
      from pg_control_system())
    and first_seen > now() - interval '${LOSS_ASSUMED_FOR}'
    and exists (select from database_servers earlier where earlier.first_seen < present.first_seen)`;

/**
 * True for an hour after the store was first seen on another server, or on another timeline, than before: a standby was
 * promoted, or a backup was restored, and the store may have lost its last commits. False if the role may not see that.
 */
export async function hasMoved({ pool }: { readonly pool: Queryable }): Promise<boolean> {
  try {
    await pool.query(RECORD);
    return (await pool.query(MOVED)).rows.length > 0;
  } catch (error) {
    if ((error as { code?: string }).code === INSUFFICIENT_PRIVILEGE) return false;
    throw error;
  }
}

const INSUFFICIENT_PRIVILEGE = "42501";
