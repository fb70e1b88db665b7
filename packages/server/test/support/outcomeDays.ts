import type { Store } from "../../src/store/store.js";

const DAY_MS = 86_400_000;

/** The day in UTC so many days before today, such as 2030-01-31. */
export const dayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

/** Gives a new store without outcomes partitions of its own for the last days, as if it had run since then. */
export async function createPastDays({ pool }: Pick<Store, "pool">, days: number): Promise<void> {
  const { rows } = await pool.query<{ partition: string }>("delete from finished_days returning partition");
  await pool.query(`
    drop table ${rows.map(({ partition }) => partition).join(", ")};
    select create_finished_partition('1970-01-01', '${dayBefore(days + 1)}');
    select create_finished_partition(day::date, day::date)
    from generate_series('${dayBefore(days)}'::timestamp, '${dayBefore(-2)}'::timestamp, interval '1 day') day`);
}
