import type { LaneDependencies } from "../lane/lane.js";
import {
  expireQueued,
  findOverdueQueued,
  type OverdueSubmission,
} from "../store/transitions/expireQueued.js";

/** Between two looks for work that has waited too long. */
const LOOK_MS = 1_000;
/** Submissions that are given up at once. */
const BATCH = 500;

type Dependencies = Pick<LaneDependencies, "store" | "chain" | "options" | "chainRef" | "results" | "log"> & {
  /** When this process began, by the database's clock. */
  readonly since: Date;
};

/** Ends for good what waited longer than `maxQueueMs` without a broadcast, and says so to whoever waits. */
export function startExpiry(dependencies: Dependencies): { close(): void } {
  const { store, options, chainRef, results, log, since } = dependencies;
  const { maxQueueMs } = options;
  const look = async () => {
    const overdue = await findOverdueQueued(store, chainRef, { maxQueueMs, since, limit: BATCH });
    const ids = await notExecuted(overdue, dependencies);
    const expired = new Map((await expireQueued(store, ids, maxQueueMs)).map((e) => [e.id, e]));
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

/**
 * What surely was not executed. Of what is older than this process the store may know too little, if it is an old
 * backup that was restored: then the chain is asked, and while it does not answer, nothing of that is given up.
 */
async function notExecuted(
  overdue: readonly OverdueSubmission[],
  { chain, log }: Pick<Dependencies, "chain" | "log">,
): Promise<string[]> {
  const recent = overdue.filter((submission) => submission.recent);
  const older = overdue.filter((submission) => !submission.recent);
  const receipts = await chain.receipts(older.map(({ innerHash }) => innerHash)).catch((error: Error) => {
    log.debug({ err: error.message }, "the chain does not tell what became of old submissions");
    return undefined;
  });
  const open = receipts === undefined ? [] : older.filter((_, i) => receipts[i] === undefined);
  return [...recent, ...open].map(({ id }) => id);
}
