import type { Logger } from "../model/telemetry/log.js";
import { forgetOldCaps } from "../store/keys/capUse.js";
import type { Store } from "../store/store.js";

const INTERVAL_MS = 3_600_000;

/** Deletes the counts of daily caps (D25) of days that ended a week ago: at the start, and every hour. */
export function startForgettingCaps({ store, log }: { readonly store: Store; readonly log: Logger }) {
  const forget = () => {
    forgetOldCaps(store).catch((error: Error) =>
      log.debug({ err: error.message }, "the counts of old days could not be deleted"),
    );
  };
  forget();
  const timer = setInterval(forget, INTERVAL_MS);
  return { close: () => clearInterval(timer) };
}
