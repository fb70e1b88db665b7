import type { Logger } from "../model/telemetry/log.js";
import { forgetIdempotentRequests } from "../store/accept/idempotentRequests.js";
import type { Store } from "../store/store.js";

const INTERVAL_MS = 60_000;
/** The most requests that one statement deletes. */
const REQUESTS_PER_DELETE = 500;

/**
 * Deletes requests with an `Idempotency-Key`, `retentionMs` after they came (D18). The store also compares that time when it
 * looks a key up, so a late deletion changes no answer.
 */
export function startForgettingRequests({
  store,
  retentionMs,
  log,
}: {
  readonly store: Store;
  readonly retentionMs: number;
  readonly log: Logger;
}): { close(): void } {
  let closed = false;
  const forget = async () => {
    while (
      !closed &&
      (await forgetIdempotentRequests(store.pool, retentionMs, REQUESTS_PER_DELETE)) === REQUESTS_PER_DELETE
    );
  };
  const timer = setInterval(() => {
    forget().catch((error: Error) => log.debug({ err: error.message }, "old requests could not be deleted"));
  }, INTERVAL_MS);
  return {
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}
