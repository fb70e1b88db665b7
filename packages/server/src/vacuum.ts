import type { Logger } from "./log.js";
import type { Store } from "./store/Store.js";
import { vacuumUnfinished } from "./store/vacuum.js";

/** Between two looks. */
const LOOK_MS = 1_000;

/** Keeps the table of what is under way as small as what is in it. */
export function vacuumInTime({ store, log }: { readonly store: Store; readonly log: Logger }): {
  close(): Promise<void>;
} {
  let looking: Promise<void> | undefined;
  const look = async () => {
    try {
      await vacuumUnfinished(store);
    } catch (error) {
      log.debug({ err: (error as Error).message }, "dead rows could not be cleared away");
    }
    looking = undefined;
  };
  const timer = setInterval(() => {
    looking ??= look();
  }, LOOK_MS);
  return {
    async close() {
      clearInterval(timer);
      await looking;
    },
  };
}
