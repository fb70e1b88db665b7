import type { Logger } from "./log.js";
import { findSubmissions } from "./store/lookup.js";
import type { Store } from "./store/Store.js";
import type { Failure, Submission } from "./submission.js";

/** News of a submission, told after it was committed. */
export type Notice =
  | { readonly state: "broadcast" }
  | { readonly state: "included"; readonly reverted: boolean }
  | ({ readonly state: "failed" } & Failure);

export type Listener = (id: string, notice: Notice) => void;

/** Carries news from the lanes to the lines that wait for it. */
export interface Results {
  publish(ids: readonly string[], noticeOf: (id: string) => Notice): void;
  /** Calls the listener for news of these ids, maybe more than once for the same, until the returned function is called. */
  subscribe(ids: readonly string[], listener: Listener): () => void;
  close(): void;
}

/** The news that a submission's state is, if it is any. */
export function noticeOf(submission: Submission): Notice | undefined {
  switch (submission.state) {
    case "queued":
    case "signed":
      return undefined;
    case "broadcast":
      return { state: "broadcast" };
    case "included":
      return { state: "included", reverted: submission.reverted };
    case "failed":
      return { state: "failed", reason: submission.reason, message: submission.message };
  }
}

const POLL_MS = 1_000;

/**
 * News of this process's lanes comes at once; the store is asked now and then for the rest (a lane that another
 * process has, a write whose confirmation was lost).
 */
export function createResults(store: Store, log: Logger): Results {
  const listeners = new Map<string, Set<Listener>>();
  const tell = (id: string, notice: Notice) => {
    for (const listener of listeners.get(id) ?? []) listener(id, notice);
  };
  const poll = async () => {
    const ids = [...listeners.keys()];
    if (ids.length === 0) return;
    for (const submission of await findSubmissions(store, ids)) {
      const notice = noticeOf(submission);
      if (notice) tell(submission.id, notice);
    }
  };
  const timer = setInterval(() => {
    poll().catch((error: Error) => log.debug({ err: error.message }, "waiting lines could not be looked up"));
  }, POLL_MS);
  return {
    publish(ids, notice) {
      for (const id of ids) if (listeners.has(id)) tell(id, notice(id));
    },
    subscribe(ids, listener) {
      for (const id of ids) {
        const known = listeners.get(id) ?? new Set();
        listeners.set(id, known.add(listener));
      }
      return () => {
        for (const id of ids) {
          const known = listeners.get(id);
          known?.delete(listener);
          if (known?.size === 0) listeners.delete(id);
        }
      };
    },
    close: () => clearInterval(timer),
  };
}
