import { forgetIdempotentRequests } from "../store/accept/idempotentRequests.js";
import { forgetOldCaps } from "../store/keys/capUse.js";
import { dropOldRefusals } from "../store/refusals/refusals.js";
import type { OpenStore } from "../store/store.js";
import { type ExpiryDependencies, expireOverdue } from "./expiry.js";
import { type OutcomeDays, startOutcomeDays } from "./outcomeDays.js";
import type { UnfinishedWork } from "./unfinishedWork.js";
import { startVacuum } from "./vacuum.js";

export type Maintenance = Pick<OutcomeDays, "oldestDay" | "close">;

export interface MaintenanceDependencies extends ExpiryDependencies {
  readonly store: OpenStore;
  readonly unfinished: () => UnfinishedWork;
}

/** The most requests with an idempotency key that one statement deletes. */
const REQUESTS_PER_DELETE = 500;

/** Starts the periodic jobs that keep the store small and end what is too old. */
export function startMaintenance(dependencies: MaintenanceDependencies): Maintenance {
  const { store, log, options } = dependencies;
  const closing = new AbortController();
  const timers: NodeJS.Timeout[] = [];
  const every = (ms: number, job: () => Promise<unknown>, failure: string) => {
    const run = () => void job().catch((error: Error) => log.debug({ err: error.message }, failure));
    timers.push(setInterval(run, ms));
    return run;
  };
  /** D18: the store also compares the time when it looks a key up, so a late deletion changes no answer. */
  const forgetRequests = async () => {
    const forgotten = store.clock.longBefore(options.idempotencyMs);
    const forget = () => forgetIdempotentRequests(store.pool, forgotten, REQUESTS_PER_DELETE);
    while (!closing.signal.aborted && (await forget()) === REQUESTS_PER_DELETE);
  };
  every(1_000, () => expireOverdue(dependencies), "overdue submissions could not be given up");
  every(60_000, forgetRequests, "old requests could not be deleted");
  // Those of daily caps (D25) whose days ended a week ago, and refused lines that nobody can look up any more (D15).
  every(
    3_600_000,
    () => forgetOldCaps(store.forRole("maintenance"), closing.signal),
    "the counts of old days could not be deleted",
  )();
  every(600_000, () => dropOldRefusals(store), "the refusals of old days could not be dropped")();
  const vacuum = startVacuum({ ...dependencies, store: store.forRole("maintenance") });
  const days = startOutcomeDays({ store, options, log });
  return {
    oldestDay: days.oldestDay,
    async close() {
      closing.abort();
      for (const timer of timers) clearInterval(timer);
      await Promise.all([vacuum.close(), days.close()]);
    },
  };
}
