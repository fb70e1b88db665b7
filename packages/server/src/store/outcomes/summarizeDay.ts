import type { PooledConnection } from "../database/database.js";
import { findDayToSummarize, type OutcomeDay, partitionName } from "./outcomeDays.js";

/** A day is summarized when it has been over for so many days. Almost everything that came in it is final then. */
const DAYS_OVER = 1;
/** One statement summarizes the submissions of so many senders. */
const SENDERS = 2_000;

/**
 * Summarizes the oldest day that is due: notes the highest nonces of its senders and lanes, so that the queries of the service
 * need not read the day any more. It can be interrupted at any point, and repeated.
 * @param rest resolves after a pause that follows work of so many ms.
 * @returns the summarized day; undefined if none is due.
 */
export async function summarizeDay(
  db: PooledConnection,
  rest: (workedMs: number) => Promise<void>,
): Promise<string | undefined> {
  const day = await findDayToSummarize(db, DAYS_OVER);
  if (day === undefined) return undefined;
  const name = partitionName(day);
  // Marks the pages as visible to all, so that the senders' index alone answers below.
  await db.query(`vacuum (skip_locked, index_cleanup off, truncate false) ${name}`);
  // Waits for the sessions that write to the partition. Everything that they commit is seen below, and the trigger sees the rest.
  await db.query(
    `create or replace trigger add_late_outcome after insert on ${name}
     for each row execute function add_late_outcome()`,
  );
  let after: SenderKey | undefined = { chain: -1, sender: Buffer.alloc(0) };
  while (after !== undefined) {
    const startedAt = performance.now();
    after = await summarizeSenders(db, day, after);
    if (after !== undefined) await rest(performance.now() - startedAt);
  }
  await summarizeLanes(db, day);
  return day.day;
}

interface SenderKey {
  readonly chain: number;
  readonly sender: Buffer;
}

async function summarizeSenders(
  db: PooledConnection,
  day: Pick<OutcomeDay, "day" | "partition">,
  after: SenderKey,
): Promise<SenderKey | undefined> {
  const { rows } = await db.query<SenderKey>(
    `with part as materialized (
       select chain, sender, max(sender_nonce) + 1 as next from ${partitionName(day)}
       where state = 'included' and (chain, sender) > ($1, $2)
       group by chain, sender order by chain, sender limit ${SENDERS}
     ), stored as (
       insert into sender_nonces as n (chain, sender, next, last_day)
       select chain, sender, next, $3::date from part
       on conflict (chain, sender) do update
         set next = greatest(n.next, excluded.next), last_day = greatest(n.last_day, excluded.last_day)
     )
     select chain, sender from part order by chain desc, sender desc limit 1`,
    [after.chain, after.sender, day.day],
  );
  return rows[0];
}

/**
 * Notes the lanes' highest nonces, each in a statement of its own, so that a locked lane holds up no other. A lane that changes
 * meanwhile may have given its nonces up (`stopForLostBlocks`), so it comes again, until none is left. From then on no plan
 * reads the day.
 */
async function summarizeLanes(
  db: PooledConnection,
  day: Pick<OutcomeDay, "day" | "partition">,
): Promise<void> {
  const statements = laneStatements(partitionName(day));
  for (;;) {
    const { rows } = await db.query<LaneKey>(statements.find);
    if (rows.length === 0 && (await db.query(statements.finish, [day.day])).rowCount === 1) return;
    for (const { chain, waiver } of rows) await db.query(statements.note, [chain, waiver]);
  }
}

interface LaneKey {
  readonly chain: number;
  readonly waiver: Buffer;
}

function laneStatements(name: string) {
  const isHigher = `cross join lateral (
      select waiver_nonce, block_number, block_hash from ${name}
      where chain = k.chain and waiver = k.waiver and waiver_nonce is not null order by waiver_nonce desc limit 1) f
    where f.waiver_nonce > coalesce(k.old_nonce, -1)`;
  return {
    find: `select k.chain, k.waiver from lanes k ${isHigher}`,
    // The nonce was read before the wait for the row: by its xmin, the row is still the one that was read with it.
    note: `update lanes l set old_nonce = f.waiver_nonce, old_block_number = f.block_number, old_block_hash = f.block_hash
      from lanes k ${isHigher} and k.chain = $1 and k.waiver = $2
        and l.chain = k.chain and l.waiver = k.waiver and l.xmin = k.xmin`,
    finish: `with summarized as (
        update finished_days set summarized_at = now()
        where day = $1::date and not exists (select from lanes k ${isHigher}) returning end_id
      ) select set_recent_outcomes(end_id) from summarized`,
  };
}
