import type { NodeClient } from "../chain/client/nodeClient.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import type { Results } from "../results/results.js";
import type { Store } from "../store/store.js";
import {
  expireQueued,
  findOverdueQueued,
  type OverdueSubmission,
} from "../store/transitions/expireQueued.js";
import type { UnfinishedWork } from "./unfinishedWork.js";

const INTERVAL_MS = 1_000;
/** The most submissions that one round ends. */
const SUBMISSIONS_PER_ROUND = 500;

export interface ExpiryDependencies {
  readonly store: Store;
  readonly chain: Pick<NodeClient, "areIncluded">;
  readonly options: ResolvedOptions;
  readonly results: Pick<Results, "publish">;
  readonly log: Logger;
  readonly chainRef: number;
  /** Nothing expires, and the store is not asked, while no queued submission is old enough. */
  readonly unfinished: () => Pick<UnfinishedWork, "oldestQueuedMs">;
  /** The start of this process by the database's clock. */
  readonly since: Date;
}

/** Ends submissions that waited longer than `maxQueueMs` without a broadcast, and notifies their result lines. */
export function startExpiry(dependencies: ExpiryDependencies): { close(): void } {
  const { store, options, chainRef, results, log, since } = dependencies;
  const expireOverdue = async () => {
    const { maxQueueMs } = options;
    const before = store.clock.before(maxQueueMs);
    if (before === undefined) return;
    const overdue = await findOverdueQueued(store, chainRef, {
      maxQueueMs,
      before,
      since,
      limit: SUBMISSIONS_PER_ROUND,
    });
    const ids = await notExecuted(overdue, dependencies);
    const expired = new Map(
      (await expireQueued(store, ids, maxQueueMs)).map((submission) => [submission.id, submission]),
    );
    if (expired.size > 0) log.warn({ expired: expired.size }, "old submissions were given up");
    results.publish([...expired.values()], (id) => ({
      state: "failed",
      reason: "NOT_BROADCAST",
      message: expired.get(id)?.message ?? "",
    }));
  };
  const timer = setInterval(() => {
    if (dependencies.unfinished().oldestQueuedMs < options.maxQueueMs) return;
    expireOverdue().catch((error: Error) =>
      log.debug({ err: error.message }, "overdue submissions could not be given up"),
    );
  }, INTERVAL_MS);
  return { close: () => clearInterval(timer) };
}

/**
 * Returns the ids of the submissions that surely were not executed. If the store is a restored backup, it may know too
 * little of submissions that are older than this process. The chain is asked for such submissions, and none ends while the
 * chain does not answer.
 */
async function notExecuted(
  overdue: readonly OverdueSubmission[],
  { chain, log }: Pick<ExpiryDependencies, "chain" | "log">,
): Promise<string[]> {
  const recent = overdue.filter((submission) => submission.recent);
  const older = overdue.filter((submission) => !submission.recent);
  const included = await chain.areIncluded(older.map(({ innerHash }) => innerHash)).catch((error: Error) => {
    log.debug({ err: error.message }, "overdue submissions could not be looked up on the chain");
    return undefined;
  });
  const notIncluded = included === undefined ? [] : older.filter((_, i) => included[i] === false);
  return [...recent, ...notIncluded].map(({ id }) => id);
}
