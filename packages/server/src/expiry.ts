import type { LaneDependencies } from "./lane.js";
import { expireQueued } from "./store/queue.js";

/** Between two looks for work that has waited too long. */
const LOOK_MS = 1_000;

/** Ends for good what waited longer than `maxQueueMs` without a broadcast, and says so to whoever waits. */
export function expireOldWork({
  store,
  options,
  chainRef,
  results,
  log,
}: Pick<LaneDependencies, "store" | "options" | "chainRef" | "results" | "log">): { close(): void } {
  const look = async () => {
    const expired = new Map((await expireQueued(store, chainRef, options.maxQueueMs)).map((e) => [e.id, e]));
    if (expired.size > 0) log.warn({ expired: expired.size }, "old submissions were given up");
    results.publish([...expired.values()], (id) => ({
      state: "failed",
      reason: "NOT_BROADCAST",
      message: expired.get(id)?.message ?? "",
    }));
  };
  const timer = setInterval(() => {
    look().catch((error: Error) =>
      log.debug({ err: error.message }, "old submissions could not be looked for"),
    );
  }, LOOK_MS);
  return { close: () => clearInterval(timer) };
}
