import type { Logger } from "../model/telemetry/log.js";
import type { Store } from "../store/store.js";
import { vacuumUnfinished } from "../store/vacuum.js";
import { createWakeableTimer } from "../util/wakeableTimer.js";
import type { UnfinishedWork } from "./unfinishedWork.js";

const INTERVAL_MS = 1_000;
/** Vacuuming takes at most one tenth of the time. */
const PERIODS_PER_VACUUM = 10;

/** The longest pause while a transaction that stays open, such as a dump, keeps the dead rows. */
const MAX_PAUSE_MS = 30_000;

/**
 * Returns the pause after a vacuum.
 * @param inVain the number of vacuums up to this one that could remove little: each doubles the pause.
 */
export function restAfter(tookMs: number, inVain: number): number {
  const pauseMs = Math.min(MAX_PAUSE_MS, INTERVAL_MS * 2 ** inVain);
  return Math.max(pauseMs, tookMs * (PERIODS_PER_VACUUM - 1));
}

export interface VacuumDependencies {
  readonly store: Store;
  readonly log: Logger;
  readonly unfinished: () => Pick<UnfinishedWork, "count">;
}

/** A lane without work is looked at in one of this many rounds. */
const IDLE_ROUNDS = 10;

/**
 * Vacuums the table of unfinished submissions while it changes. Every submission leaves dead rows in it, which each
 * lane's snapshot would walk over.
 */
export function startVacuum({ store, log, unfinished }: VacuumDependencies): { close(): Promise<void> } {
  const timer = createWakeableTimer();
  const closing = new AbortController();
  let idleRounds = 0;
  let inVain = 0;
  const loop = async () => {
    let restMs = INTERVAL_MS;
    for (;;) {
      await timer.rest(restMs, false);
      if (closing.signal.aborted) return;
      // Where nothing is in flight, only the last dead rows are left.
      const isBusy = unfinished().count > 0;
      if (!isBusy && idleRounds++ % IDLE_ROUNDS > 0) continue;
      if (isBusy) idleRounds = 0;
      const startedAt = performance.now();
      try {
        inVain = (await vacuumUnfinished(store, closing.signal)) === "kept" ? inVain + 1 : 0;
      } catch (error) {
        log.debug({ err: (error as Error).message }, "the table of submissions could not be vacuumed");
      }
      restMs = restAfter(performance.now() - startedAt, inVain);
    }
  };
  const running = loop();
  return {
    async close() {
      closing.abort();
      timer.end();
      await running;
    },
  };
}
