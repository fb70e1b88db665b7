import type { FailureCount } from "../model/keys/failedAuthentication.js";
import type { Logger } from "../model/telemetry/log.js";
import { recordEvent } from "../store/audit/audit.js";
import type { OpenStore } from "../store/store.js";
import { Ledger, type Terms } from "../util/ledger.js";

export interface AuditFailuresDependencies {
  readonly store: Pick<OpenStore, "pool" | "monitor">;
  readonly failures: { takeCounts(): FailureCount[] };
  readonly log: Logger;
}

const INTERVAL_MS = 10_000;
/** A flood from many addresses adds no more than this many entries each time. */
const MAX_ENTRIES = 20;
/** The audit only grows, so a flood that goes on adds some thousand entries a day, each with more failures. */
const ENTRIES: Terms = { rateBurst: 200, ratePerSecond: 1 / 90 };

/**
 * Writes the failed authentications to the audit, one entry for each address and reason in an interval. The addresses with
 * the most failures have entries of their own; the others share one.
 * @returns a function that writes the last ones, and ends it.
 */
export function startAuditingFailures({ store, failures, log }: AuditFailuresDependencies) {
  const ledger = new Ledger();
  const writeSome = async (most: number) => {
    const counts = failures.takeCounts().sort((a, b) => b.count - a.count);
    const events = counts.length > most ? summarized(counts, most) : counts.map(eventOf);
    ledger.charge("audit", events.length, ENTRIES);
    try {
      for (const event of events) await recordEvent(store.pool, event);
    } catch (error) {
      // They are in the log and in the metrics as well.
      log.warn({ err: (error as Error).message }, "failed authentications could not be written to the audit");
    }
  };
  const allowed = () =>
    Math.min(MAX_ENTRIES, Math.floor(ENTRIES.rateBurst - ledger.debtOf("audit", ENTRIES)));
  const timer = setInterval(() => void (allowed() > 0 && writeSome(allowed())), INTERVAL_MS).unref();
  return {
    async close(): Promise<void> {
      clearInterval(timer);
      // A store that does not answer must not delay the end.
      if (store.monitor.trouble === undefined) await writeSome(Math.max(1, allowed()));
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

function summarized(counts: readonly FailureCount[], most: number) {
  const others = counts.slice(most - 1);
  const count = others.reduce((sum, one) => sum + one.count, 0);
  return [
    ...counts.slice(0, most - 1).map(eventOf),
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
