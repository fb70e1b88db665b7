import type { Submission } from "../../model/submission/submission.js";
import { readRows } from "../database/statements.js";
import type { Store } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf } from "./findSubmissions.js";

/** A final outcome, with the columns that only operators see. */
export interface Outcome {
  readonly submission: Submission;
  readonly chainId: number;
  /** How many wrappers were signed for it. */
  readonly signings: number;
}

/** Ids above `after` and below `before`. */
export interface IdRange {
  readonly after: string;
  readonly before: string;
}

/** Reads the first outcomes of a range in the order of their ids, of all chains of the store. */
export async function outcomePage(
  { pool }: Pick<Store, "pool">,
  { after, before }: IdRange,
  limit: number,
): Promise<Outcome[]> {
  const rows = await readRows<SubmissionRow & { chainId: bigint; signings: number }>(
    pool,
    `select ${SUBMISSION_COLUMNS}, signings, (select chain_id from chains c where c.id = f.chain) as "chainId"
     from finished f where id > $1 and id < $2 order by id limit $3`,
    [after, before, limit],
  );
  return rows.map(({ chainId, signings, ...row }) => ({
    ...{ submission: submissionOf(row), chainId: Number(chainId), signings },
  }));
}

/** The submissions of a range that have no outcome yet. */
export interface UnfinishedWork {
  readonly count: number;
  readonly oldestId: string;
}

export async function unfinishedIn(
  { pool }: Pick<Store, "pool">,
  { after, before }: IdRange,
): Promise<UnfinishedWork | undefined> {
  const { rows } = await pool.query<{ id: string; count: number }>(
    `select id, count(*) over ()::int as count from unfinished where id > $1 and id < $2 order by id limit 1`,
    [after, before],
  );
  return rows[0] && { count: rows[0].count, oldestId: rows[0].id };
}

/**
 * The time since which everything that was written is visible: the database's clock, or the start of the oldest
 * transaction that has written and not ended.
 */
export async function visibleUntil({ pool }: Pick<Store, "pool">): Promise<Date> {
  const { rows } = await pool.query<{ time: Date }>(
    `select least(now(), min(xact_start)) as time from pg_stat_activity
     where datname = current_database() and backend_xid is not null`,
  );
  return rows[0]?.time ?? new Date(0);
}

/** The lowest id that the store keeps: days below it have been dropped. */
export async function firstKeptId({ pool }: Pick<Store, "pool">): Promise<string | undefined> {
  const { rows } = await pool.query<{ first_id: string }>("select first_id from finished_range");
  return rows[0]?.first_id;
}

/** An exported day with the number of its outcomes. */
export interface ExportedDay {
  readonly day: string;
  readonly rows: number;
}

/** Records that days have been exported completely, so that they may be dropped where that waits for an export. */
export async function recordExports(
  { pool }: Pick<Store, "pool">,
  days: readonly ExportedDay[],
): Promise<void> {
  await pool.query(
    `insert into exports (partition_day, rows) select * from unnest($1::date[], $2::bigint[])
     on conflict (partition_day) do update set exported_at = now(), rows = excluded.rows`,
    [days.map(({ day }) => day), days.map(({ rows }) => rows)],
  );
}
