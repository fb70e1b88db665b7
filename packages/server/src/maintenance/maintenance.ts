import { type ExpiryDependencies, startExpiry } from "./expiry.js";
import { startForgettingRequests } from "./forgetRequests.js";
import { startForgettingCaps } from "./oldCaps.js";
import { startDroppingRefusals } from "./oldRefusals.js";
import { type OutcomeDays, startOutcomeDays } from "./outcomeDays.js";
import type { UnfinishedWork } from "./unfinishedWork.js";
import { startVacuum } from "./vacuum.js";

export type Maintenance = Pick<OutcomeDays, "oldestDay" | "close">;

export interface MaintenanceDependencies extends ExpiryDependencies {
  readonly unfinished: () => UnfinishedWork;
}

/** Starts the periodic jobs that keep the store small and end what is too old. */
export function startMaintenance(dependencies: MaintenanceDependencies): Maintenance {
  const { store, log, options } = dependencies;
  const requests = startForgettingRequests({ store, retentionMs: options.idempotencyMs, log });
  const caps = startForgettingCaps({ store, log });
  const refusals = startDroppingRefusals({ store, log });
  const vacuum = startVacuum(dependencies);
  const expiry = startExpiry(dependencies);
  const days = startOutcomeDays({ store, options, log });
  return {
    oldestDay: days.oldestDay,
    async close() {
      caps.close();
      refusals.close();
      expiry.close();
      requests.close();
      await Promise.all([vacuum.close(), days.close()]);
    },
  };
}
