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
export async function expireOverdue(dependencies: ExpiryDependencies): Promise<void> {
  const { store, options, chainRef, results, log, since, unfinished } = dependencies;
  const { maxQueueMs } = options;
  const before = store.clock.before(maxQueueMs);
  if (before === undefined || unfinished().oldestQueuedMs < maxQueueMs) return;
  const terms = { maxQueueMs, before, since, limit: SUBMISSIONS_PER_ROUND };
  const ids = await notExecuted(await findOverdueQueued(store, chainRef, terms), dependencies);
  const expired = await expireQueued(store, ids, maxQueueMs);
  if (expired.length > 0) log.warn({ expired: expired.length }, "old submissions were given up");
  const messages = new Map(expired.map(({ id, message }) => [id, message]));
  results.publish(expired, (id) => ({
    ...{ state: "failed", reason: "NOT_BROADCAST", message: messages.get(id) ?? "" },
  }));
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
