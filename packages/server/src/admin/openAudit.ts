import { setTimeout as pause } from "node:timers/promises";
import { type AuditQuery, auditEntries, auditEntriesAfter } from "../store/audit/audit.js";
import { openRunningStore, type StoreLocation } from "../store/store.js";

/** Reads the audit of a service from outside its process. */
export type Audit = Awaited<ReturnType<typeof openAudit>>;

/** The pause before the next look for new events. */
const POLL_MS = 500;
const PAGE_SIZE = 1_000;

/**
 * Connects to the store of a service, by its database URL or, while the service runs, by its data folder.
 * @throws {@link StartError} if the store cannot be reached.
 */
export async function openAudit(location: StoreLocation) {
  const store = await openRunningStore(location);
  return {
    /** Lists events, the latest first. */
    list: (query: AuditQuery) => auditEntries(store, query),
    /**
     * Yields every event after an id, the oldest first, and then each new one within a second, until the signal is aborted.
     * Whoever goes on after the last id misses none and gets none twice.
     */
    async *follow(after: string, signal: AbortSignal) {
      for (let last = after; !signal.aborted; ) {
        const entries = await auditEntriesAfter(store, last, PAGE_SIZE);
        yield* entries;
        last = entries.at(-1)?.id ?? last;
        if (entries.length < PAGE_SIZE) await pause(POLL_MS, undefined, { signal }).catch(() => {});
      }
    },
    close: () => store.close(),
  };
}
