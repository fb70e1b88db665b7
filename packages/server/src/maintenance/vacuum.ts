import type { Logger } from "../model/log.js";
import type { Store } from "../store/store.js";
import { vacuumUnfinished } from "../store/vacuum.js";
import { createWakeableTimer } from "../util/wakeableTimer.js";

const INTERVAL_MS = 1_000;
/** Vacuuming takes at most one tenth of the time. */
const PERIODS_PER_VACUUM = 10;

/** Returns the pause after a vacuum. Rows that cannot be removed, as during a dump, do not make it run all the time. */
export function restAfter(tookMs: number): number {
  return Math.max(INTERVAL_MS, tookMs * (PERIODS_PER_VACUUM - 1));
}

/**
 * Vacuums the table of unfinished submissions while it changes. Every submission leaves dead rows in it, which each
 * lane's snapshot would walk over.
 */
export function startVacuum({ store, log }: { readonly store: Store; readonly log: Logger }): {
  close(): Promise<void>;
} {
  const timer = createWakeableTimer();
  let closed = false;
  const loop = async () => {
    let restMs = INTERVAL_MS;
    for (;;) {
      await timer.rest(restMs, false);
      if (closed) return;
      const startedAt = performance.now();
      try {
        await vacuumUnfinished(store);
      } catch (error) {
        log.debug(
          { err: (error as Error).message },
          "the table of unfinished submissions could not be vacuumed",
        );
      }
      restMs = restAfter(performance.now() - startedAt);
    }
  };
  const running = loop();
  return {
    async close() {
      closed = true;
      timer.end();
      await running;
    },
  };
}
