import { END_LOST_SESSION, type Queryable } from "../database/database.js";
import { StoreUnavailableError, troubleNamed } from "../database/storeTrouble.js";

/**
 * The settings that the service relies on, whatever the role or the database has as its default.
 *
 * Every query is written for an index, which it walks along in order. PostgreSQL keeps the plan of a prepared statement, so the plan
 * must not rest on a table that was small when it was made: then a sequential scan is the cheapest, or a bitmap of all rows of the
 * recent days, and both become a reading of the whole day. A commit is on the disk, and on the synchronous standbys, before it is reported;
 * `remote_apply` waits for more. A warning tells of a commit whose wait for the standby was cancelled, so warnings have to come. The
 * driver reads times of the ISO style alone, and writes a null of an array as PostgreSQL does by default. No statement has a limit of
 * the database's: the service gives up each that is silent for too long, and a vacuum or a migration may take hours. The database ends a
 * transaction of ours that is idle for a minute: it would keep every dead row of the store. It also ends a statement whose connection was
 * cut: such statements would wait for a lock in ever more sessions, until the server has none left. A server on Windows cannot tell that.
 */
const SETTINGS = `
  set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_bitmapscan = off; set jit = off;
  set default_transaction_isolation = 'read committed'; set idle_in_transaction_session_timeout = '1min';
  set client_min_messages = warning; set datestyle = 'ISO'; set array_nulls = on; ${END_LOST_SESSION};
  set statement_timeout = 0;
  do $$ begin set transaction_timeout = 0; exception when undefined_object then null; end $$;
  do $$ begin set client_connection_check_interval = '2s'; exception when invalid_parameter_value then null; end $$;
  select set_config('synchronous_commit',
    case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, false)`;

export interface SessionOptions {
  /** The longest wait of a statement for a lock, in ms; by default without limit. */
  readonly lockTimeoutMs?: number;
  /** The schemas that names without a schema are looked for in; by default those of the role's search path. */
  readonly searchPath?: readonly string[];
  /** Commits must wait for a standby. */
  readonly requireSynchronousStandby?: boolean | undefined;
}

/**
 * Sets up the session of a new connection, and reads back that commits are durable in it. A connection to a read-only server
 * would show what was: while a name moves from one primary to the next, new connections may still lead to the old one.
 * A server that was promoted a moment ago may wait for no standby, and has new connections alone.
 * @throws {@link StoreUnavailableError} `readOnly`, `notSynchronous`, or `notDurable` if the setting did not stay.
 */
export async function prepareSession(
  connection: Queryable,
  { lockTimeoutMs = 0, searchPath = [], requireSynchronousStandby = false }: SessionOptions = {},
): Promise<void> {
  const schemas = searchPath.map((schema) => `"${schema.replaceAll('"', '""')}"`);
  const inSchema = schemas.length === 0 ? "" : `set search_path = ${schemas.join()};`;
  await connection.query(`set lock_timeout = ${Math.ceil(lockTimeoutMs)}; ${inSchema} ${SETTINGS}`);
  const { rows } = await connection.query<{ durable: boolean; synchronous: boolean; writable: boolean }>(
    `select current_setting('synchronous_commit') in ('on', 'remote_apply') as durable,
            current_setting('synchronous_standby_names') <> '' as synchronous,
            current_setting('transaction_read_only') = 'off' as writable`,
  );
  if (rows[0]?.writable !== true) throw new StoreUnavailableError(troubleNamed("readOnly"));
  if (requireSynchronousStandby && rows[0]?.synchronous !== true)
    throw new StoreUnavailableError(troubleNamed("notSynchronous"));
  if (rows[0]?.durable !== true) throw new StoreUnavailableError(troubleNamed("notDurable"));
}
