import type { Queryable } from "../database/database.js";

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
