import type { Queryable } from "../database/database.js";
import { type StoreTrouble, troubleNamed } from "../database/storeTrouble.js";

/** The settings and state of the server that decide whether a commit is durable. */
export interface ServerFacts {
  readonly readOnly: boolean;
  /** Commits wait for a standby (`synchronous_standby_names` is not empty). */
  readonly synchronous: boolean;
  /** Connections that follow the write-ahead log. */
  readonly standbys: number;
  /** The standbys for which commits wait; undefined if this role may not see it. */
  readonly synchronousStandbys: number | undefined;
  /** The database's encoding, such as UTF8. */
  readonly encoding: string;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  /**
   * The age of the oldest open transaction of any session, in ms; 0 without one. Dead rows stay as long as it is open, unless it is
   * a vacuum. A role without `pg_read_all_stats` sees only the sessions of its own user.
   */
  readonly oldestTransactionMs: number;
}

/** Roles without `pg_monitor` see that there are standbys, and nothing of their states. */
const FACTS = `
  select current_setting('transaction_read_only')::boolean as "readOnly",
         current_setting('synchronous_standby_names') <> '' as synchronous,
         current_setting('server_encoding') as encoding,
         current_setting('fsync')::boolean as fsync,
         current_setting('full_page_writes')::boolean as "fullPageWrites",
         count(pid)::int as standbys,
         (count(pid) filter (where sync_state in ('sync', 'quorum')))::int as "seenSynchronous",
         count(pid) = count(sync_state) as "seesAll",
         (select coalesce(max(extract(epoch from clock_timestamp() - begun) * 1000), 0)::float8 from (
            select xact_start as begun from pg_stat_activity
            where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
              and pid not in (select pid from pg_stat_progress_vacuum)
            union all select prepared from pg_prepared_xacts where database = current_database()) t
         ) as "oldestTransactionMs"
  from pg_stat_replication`;

type FactsRow = Omit<ServerFacts, "synchronousStandbys"> & {
  readonly seenSynchronous: number;
  readonly seesAll: boolean;
};

export async function readServerFacts(db: Queryable): Promise<ServerFacts> {
  const { rows } = await db.query<FactsRow>(FACTS);
  if (rows[0] === undefined) throw new Error("the store did not describe itself");
  const { seenSynchronous, seesAll, ...facts } = rows[0];
  return { ...facts, synchronousStandbys: seesAll ? seenSynchronous : undefined };
}

/** The requirements of the service on its database. */
export interface StoreRequirements {
  /** Commits must wait for a standby. */
  readonly requireSynchronousStandby: boolean;
}

/** The encodings that hold every text: a node may say anything. SQL_ASCII keeps the bytes as they come. */
const ENCODINGS: readonly string[] = ["UTF8", "SQL_ASCII"];

/** Names the reason for which this server can store nothing durably now; undefined without one. */
export function troubleIn(
  facts: ServerFacts,
  { requireSynchronousStandby }: StoreRequirements,
): StoreTrouble | undefined {
  if (facts.readOnly) return troubleNamed("readOnly");
  if (!ENCODINGS.includes(facts.encoding)) return troubleNamed("encoding");
  if (!facts.synchronous) return requireSynchronousStandby ? troubleNamed("notSynchronous") : undefined;
  // Every commit would wait until a standby is back.
  return facts.synchronousStandbys === 0 ? troubleNamed("noStandby") : undefined;
}

/** Describes the ways in which this server may lose what it has committed, for the operator. */
export function weaknessesIn({ synchronous, standbys, fsync, fullPageWrites }: ServerFacts): string[] {
  const weaknesses: string[] = [];
  if (!fsync)
    weaknesses.push("fsync is off: a crash of the machine can lose or destroy everything; set fsync = on");
  if (!fullPageWrites)
    weaknesses.push(
      "full_page_writes is off: a crash of the machine can destroy the store; set full_page_writes = on",
    );
  if (standbys > 0 && !synchronous)
    weaknesses.push(
      "the standbys are asynchronous: a failover can lose accepted submissions; set synchronous_standby_names",
    );
  return weaknesses;
}
