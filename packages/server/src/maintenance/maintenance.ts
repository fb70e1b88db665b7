import { type ExpiryDependencies, startExpiry } from "./expiry.js";
import { startForgettingRequests } from "./forgetRequests.js";
import { startForgettingCaps } from "./oldCaps.js";
import { startVacuum } from "./vacuum.js";

/** Starts the periodic jobs that keep the store small and end what is too old. */
export function startMaintenance(dependencies: ExpiryDependencies): { close(): Promise<void> } {
  const { store, log, options } = dependencies;
  const requests = startForgettingRequests({ store, retentionMs: options.idempotencyMs, log });
  const caps = startForgettingCaps({ store, log });
  const vacuum = startVacuum({ store, log });
  const expiry = startExpiry(dependencies);
  return {
    async close() {
      caps.close();
      expiry.close();
      requests.close();
      await vacuum.close();
    },
  };
}
