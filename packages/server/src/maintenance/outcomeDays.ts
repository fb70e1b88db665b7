import type { Registry } from "prom-client";
import type { ResolvedOptions } from "../model/options/options.js";
import { addCount } from "../model/telemetry/gauges.js";
import type { Logger } from "../model/telemetry/log.js";
import { dropOldDays } from "../store/outcomes/dropDays.js";
import { createDaysAhead, findOldestDay, withPartitionsLock } from "../store/outcomes/outcomeDays.js";
import { summarizeDay } from "../store/outcomes/summarizeDay.js";
import type { Store } from "../store/store.js";
import { createWakeableTimer } from "../util/wakeableTimer.js";

const INTERVAL_MS = 60_000;
/** Days are summarized and dropped only while the clocks of the database and of this machine differ by less. */
const CLOCKS_APART_MS = 3_600_000;

export type OutcomeDays = ReturnType<typeof startOutcomeDays>;

/**
 * Keeps the partitions of outcomes, one round a minute: makes the days ahead, summarizes those that are over, and drops those
 * that are older than the retention, unless a clock may be wrong. One replica at a time does it.
 */
export function startOutcomeDays({
  store,
  options,
  log,
  now = Date.now,
}: {
  readonly store: Pick<Store, "pool">;
  readonly options: Pick<ResolvedOptions, "retentionMs" | "dropExportedOnly">;
  readonly log: Logger;
  readonly now?: () => number;
}) {
  const timer = createWakeableTimer();
  const closing = new AbortController();
  let oldestDay: string | undefined;
  const round = async () => {
    await withPartitionsLock(store, closing.signal, async (db) => {
      const apartMs = await createDaysAhead(db, now);
      if (apartMs > CLOCKS_APART_MS) {
        log.warn(
          { apartMs },
          "the database's clock is far from this machine's: no day of outcomes is summarized or dropped, and none made where they are two days apart",
        );
        return;
      }
      // Work takes half of the time.
      const rest = (workedMs: number) => timer.rest(workedMs, false);
      for (;;) {
        const day = await summarizeDay(db, rest);
        if (day === undefined) break;
        log.info({ day }, "a day of outcomes was summarized");
      }
      if (options.retentionMs > 0) await dropOldDays(db, options, log);
    });
    oldestDay = await findOldestDay(store.pool);
  };
  const loop = async () => {
    while (!closing.signal.aborted) {
      await round().catch((error: Error) => {
        if (!closing.signal.aborted)
          log.warn({ err: error.message }, "the days of outcomes could not be kept");
      });
      await timer.rest(INTERVAL_MS, false);
    }
  };
  const running = loop();
  return {
    /** The oldest day whose outcomes are kept, such as 2030-01-31; undefined before the first round. */
    oldestDay: () => oldestDay,
    async close() {
      closing.abort();
      timer.end();
      await running;
    },
  };
}

/** Adds the gauge of the oldest day whose outcomes are kept. @param oldestDay such as 2030-01-31, undefined while unknown. */
export function addRetentionGauge(registry: Registry, oldestDay: () => string | undefined): void {
  const help = "The oldest day (UTC) whose outcomes are kept, as the seconds from 1970 to its beginning.";
  addCount(registry, "gas_waiver_oldest_day_seconds", help, () => {
    const day = oldestDay();
    return day === undefined ? undefined : Date.parse(day) / 1_000;
  });
}
