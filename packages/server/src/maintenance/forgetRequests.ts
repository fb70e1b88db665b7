import type { Logger } from "../model/log.js";
import { forgetIdempotentRequests } from "../store/accept/idempotentRequests.js";
import type { Store } from "../store/store.js";

/** Between two looks for requests that are old. */
const LOOK_MS = 60_000;
/** Requests that are forgotten in one statement. */
const STEP = 500;

/** Forgets requests that had a name, `keptMs` after they came (D18). The store looks at that time itself, too. */
export function startForgettingRequests({
  store,
  keptMs,
  log,
}: {
  readonly store: Store;
  readonly keptMs: number;
  readonly log: Logger;
}): { close(): void } {
  let closed = false;
  const look = async () => {
    while (!closed && (await forgetIdempotentRequests(store.pool, keptMs, STEP)) === STEP);
  };
  const timer = setInterval(() => {
    look().catch((error: Error) => log.debug({ err: error.message }, "old requests could not be forgotten"));
  }, LOOK_MS);
  return {
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}
