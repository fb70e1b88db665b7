import type { Store } from "../../src/store/store.js";

const DAY_MS = 86_400_000;

/** The day in UTC so many days before today, such as 2030-01-31. */
export const dayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

/** Gives a new store partitions of its own for the last days, as if it had run since then. */
export async function createPastDays({ pool }: Pick<Store, "pool">, days: number): Promise<void> {
  const { rows } = await pool.query<{ bound: string }>("select first_id_of($1::date) as bound", [
    dayBefore(days),
  ]);
  const bound = rows[0]?.bound;
  await pool.query(`
    alter table finished detach partition finished_first;
    alter table finished attach partition finished_first for values from (minvalue) to ('${bound}');
    update finished_days set day = '${dayBefore(days + 1)}', end_id = '${bound}' where partition = 'finished_first';
    select create_finished_partition(day::date, day::date)
    from generate_series('${dayBefore(days)}'::timestamp, '${dayBefore(1)}'::timestamp, interval '1 day') day;
    update finished_range set end_id = (select end_id from finished_days order by first_id desc limit 1)`);
}
