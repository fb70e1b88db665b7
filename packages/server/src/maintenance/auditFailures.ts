import type { FailureCount } from "../model/keys/failedAuthentication.js";
import type { Logger } from "../model/telemetry/log.js";
import { recordEvent } from "../store/audit/audit.js";
import type { OpenStore } from "../store/store.js";

export interface AuditFailuresDependencies {
  readonly store: Pick<OpenStore, "pool" | "monitor">;
  readonly failures: { takeCounts(): FailureCount[] };
  readonly log: Logger;
}

const INTERVAL_MS = 10_000;
/** The audit only grows, so a flood from many addresses adds no more than this many entries each time. */
const MAX_ENTRIES = 20;

/**
 * Writes the failed authentications to the audit, one entry for each address and reason in an interval. The addresses with
 * the most failures have entries of their own; the others share one.
 * @returns a function that writes the last ones, and ends it.
 */
export function startAuditingFailures({ store, failures, log }: AuditFailuresDependencies) {
  const write = async () => {
    const counts = failures.takeCounts().sort((a, b) => b.count - a.count);
    const events = counts.length > MAX_ENTRIES ? summarized(counts) : counts.map(eventOf);
    try {
      for (const event of events) await recordEvent(store.pool, event);
    } catch (error) {
      // They are in the log and in the metrics as well.
      log.warn({ err: (error as Error).message }, "failed authentications could not be written to the audit");
    }
  };
  const timer = setInterval(() => void write(), INTERVAL_MS).unref();
  return {
    async close(): Promise<void> {
      clearInterval(timer);
      // A store that does not answer must not delay the end.
      if (store.monitor.trouble === undefined) await write();
    },
  };
}

function eventOf({ interface: port, address, reason, actor = "unknown", count }: FailureCount) {
  return {
    actor: { name: actor, source: address },
    action: "failed-authentication",
    changes: { interface: { to: port }, reason: { to: reason }, count: { to: count } },
  } as const;
}

function summarized(counts: readonly FailureCount[]) {
  const others = counts.slice(MAX_ENTRIES - 1);
  const count = others.reduce((sum, one) => sum + one.count, 0);
  return [
    ...counts.slice(0, MAX_ENTRIES - 1).map(eventOf),
    {
      actor: { name: "unknown", source: "others" },
      action: "failed-authentication",
      changes: {
        addresses: { to: new Set(others.map(({ address }) => address)).size },
        count: { to: count },
      },
    } as const,
  ];
}
