import type { Logger } from "../model/telemetry/log.js";
import { dropOldRefusals } from "../store/refusals/refusals.js";
import type { Store } from "../store/store.js";

const INTERVAL_MS = 600_000;

/** Empties the tables of refused lines that nobody can look up any more (D15): at the start, and every ten minutes. */
export function startDroppingRefusals({ store, log }: { readonly store: Store; readonly log: Logger }) {
  const drop = () => {
    dropOldRefusals(store).catch((error: Error) =>
      log.debug({ err: error.message }, "the refusals of old days could not be dropped"),
    );
  };
  drop();
  const timer = setInterval(drop, INTERVAL_MS);
  return { close: () => clearInterval(timer) };
}
