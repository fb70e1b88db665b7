import type { Logger } from "../../model/telemetry/log.js";
import type { PooledConnection, Queryable } from "../database/database.js";
import { isTransactionConflict } from "../database/transaction.js";
import { findOldDays, type OutcomeDay, partitionName } from "./outcomeDays.js";

export interface Retention {
  /** Outcomes are kept for at least so long after the day in which their submissions came. */
  readonly retentionMs: number;
  /** Days that have not been exported are kept. */
  readonly dropExportedOnly: boolean;
}

/**
 * Drops the days that are too old, the oldest first, each in two rounds that are a minute apart: the first closes the day, so
 * that no submission gets an id of it any more, and the second drops its partition. No request waits for it, and it waits
 * for no transaction for long: the next round goes on where this one ended.
 */
export async function dropOldDays(db: PooledConnection, retention: Retention, log: Logger): Promise<void> {
  for (const day of await findOldDays(db, retention.retentionMs)) {
    const obstacle = await obstacleTo(db, day, retention);
    if (obstacle !== undefined) {
      log.warn({ day: day.day, obstacle }, "the outcomes of an old day are kept");
      return;
    }
    if (day.closed === "no") await closeDay(db, day);
    if (day.closed !== "for a while") continue;
    if (!(await dropDay(db, day, log))) return;
    await forgetReaders(db, day);
    await forgetSenders(db, day);
    log.info({ day: day.day }, "the outcomes of an old day were dropped");
  }
}

async function obstacleTo(
  db: Queryable,
  { day, partition, endId, closed }: OutcomeDay,
  retention: Retention,
) {
  const { rowCount } = await db.query("select from unfinished where id < $1 limit 1", [endId]);
  if (rowCount === 1) return "a submission of it is unfinished";
  if (closed !== "no" || !retention.dropExportedOnly) return undefined;
  const name = partitionName({ partition });
  const { rows } = await db.query<{ missing: string }>(
    `select missing::date::text from
       (select day_of(id) as day from ${name} order by id limit 1) oldest
       cross join lateral generate_series(oldest.day::timestamp, $1::date::timestamp, interval '1 day') missing
     where not exists (select from exports where partition_day = missing::date) limit 1`,
    [day],
  );
  if (rows[0]) return `the day ${rows[0].missing} has not been exported`;
  // The clock of a replica may be late by more than an export waits for.
  const { rows: grown } = await db.query<{ day: string; added: string }>(
    `select partition_day::text as day, stored.rows - e.rows as added from exports e cross join lateral (
       select count(*) as rows from ${name} where id >= first_id_of(partition_day) and id < first_id_of(partition_day + 1)
     ) stored
     where partition_day <= $1::date and partition_day >= (select day_of(id) from ${name} order by id limit 1)
       and stored.rows > e.rows order by partition_day limit 1`,
    [day],
  );
  return grown[0] && `${grown[0].added} outcomes of the day ${grown[0].day} came after its export`;
}

async function closeDay(db: Queryable, { day, endId }: OutcomeDay): Promise<void> {
  await db.query(
    `with closed as (update finished_days set closed_at = now() where day = $1::date)
     update finished_range set first_id = $2 where first_id < $2`,
    [day, endId],
  );
}

/** @returns false if another session is in the way. What was done stays done. */
async function dropDay(db: Queryable, { day, partition, state }: OutcomeDay, log: Logger): Promise<boolean> {
  const name = partitionName({ partition });
  try {
    if (state === "attached") await db.query(`alter table finished detach partition ${name} concurrently`);
    if (state === "detaching") await db.query(`alter table finished detach partition ${name} finalize`);
    if (state !== "dropped") await db.query(`drop table ${name}`);
  } catch (error) {
    if (!isTransactionConflict(error)) throw error;
    log.info({ day }, "an old day waits for a transaction that reads the outcomes; it is dropped later");
    return false;
  }
  await db.query("delete from finished_days where day = $1::date", [day]);
  return true;
}

const ROWS_PER_DELETE = 1_000;

/** Deletes who else may read the dropped submissions. */
async function forgetReaders(db: Queryable, { endId }: OutcomeDay): Promise<void> {
  let deleted: number | null;
  do {
    ({ rowCount: deleted } = await db.query(
      `delete from readers where (submission, key_id) in (
         select submission, key_id from readers where submission < $1 order by submission limit ${ROWS_PER_DELETE})`,
      [endId],
    ));
  } while (deleted === ROWS_PER_DELETE);
}

/** Deletes the summaries of senders whose last submission was dropped. */
async function forgetSenders(db: Queryable, { day }: OutcomeDay): Promise<void> {
  let after: { chain: number; sender: Buffer } | undefined = { chain: -1, sender: Buffer.alloc(0) };
  while (after !== undefined) {
    const { rows }: { rows: { chain: number; sender: Buffer }[] } = await db.query(
      `with part as materialized (
         select chain, sender from sender_nonces where (chain, sender) > ($1, $2)
         order by chain, sender limit ${ROWS_PER_DELETE}
       ), forgotten as (
         delete from sender_nonces n using part
         where n.chain = part.chain and n.sender = part.sender and n.last_day <= $3::date
       )
       select chain, sender from part order by chain desc, sender desc limit 1`,
      [after.chain, after.sender, day],
    );
    after = rows[0];
  }
}
