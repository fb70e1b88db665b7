import type { Logger } from "../model/log.js";
import type { Store } from "../store/store.js";
import { vacuumUnfinished } from "../store/vacuum.js";
import { createWakeableTimer } from "../util/wakeableTimer.js";

/** Between two looks. */
const LOOK_MS = 1_000;
/** A vacuum may have so much of the database's time: one part of it in these. */
const SHARE = 10;

/** How long to rest after a look that took so long: what cannot be cleared away, as during a dump, is not tried for ever. */
export function restAfter(tookMs: number): number {
  return Math.max(LOOK_MS, tookMs * (SHARE - 1));
}

/** Keeps the table of what is under way as small as what is in it. */
export function startVacuum({ store, log }: { readonly store: Store; readonly log: Logger }): {
  close(): Promise<void>;
} {
  const pause = createWakeableTimer();
  let closed = false;
  const loop = async () => {
    let restMs = LOOK_MS;
    for (;;) {
      await pause.rest(restMs, false);
      if (closed) return;
      const from = performance.now();
      try {
        await vacuumUnfinished(store);
      } catch (error) {
        log.debug({ err: (error as Error).message }, "dead rows could not be cleared away");
      }
      restMs = restAfter(performance.now() - from);
    }
  };
  const running = loop();
  return {
    async close() {
      closed = true;
      pause.end();
      await running;
    },
  };
}
