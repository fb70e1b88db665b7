import type { Logger } from "../model/log.js";
import type { Failure, Submission } from "../model/submission.js";
import type { Moved } from "../store/lease.js";
import { findSubmissions } from "../store/lookup.js";
import type { Store } from "../store/store.js";

/** News of a submission: of a broadcast as soon as the node has taken it, of the rest after it was committed. */
export type Notice =
  | { readonly state: "broadcast" }
  | { readonly state: "included"; readonly reverted: boolean }
  | ({ readonly state: "failed" } & Failure);

export type Listener = (id: string, notice: Notice) => void;

/** Carries news from the lanes to the lines that wait for it, on whichever replica. */
export interface Results {
  /** Tells what became of these, after the commit. */
  publish(moved: readonly Moved[], noticeOf: (id: string) => Notice): void;
  /** Calls the listener for news of these ids, maybe more than once for the same, until the returned function is called. */
  subscribe(ids: readonly string[], listener: Listener): () => void;
  /** Tells who waits on this replica: what another one told, or what the store is to learn yet. */
  hear(id: string, notice: Notice): void;
  /** How many submissions are waited for. */
  readonly waiting: number;
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

export interface ResultsDependencies {
  readonly store: Store;
  readonly log: Logger;
  /** Names this replica. */
  readonly replica: string;
  /** How news reaches the replica that took a submission. */
  tellOthers(
    news: readonly { readonly origin: string; readonly id: string; readonly notice: Notice }[],
  ): void;
}

/**
 * News of this replica's lanes comes at once, that of others' by notification; the store is asked now and then
 * for whatever was lost on the way.
 */
export function createResults({ store, log, replica, tellOthers }: ResultsDependencies): Results {
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
    publish(moved, noticeFor) {
      for (const { id } of moved) if (listeners.has(id)) tell(id, noticeFor(id));
      const others = moved.filter(({ origin }) => origin !== replica);
      if (others.length > 0)
        tellOthers(others.map(({ id, origin }) => ({ id, origin, notice: noticeFor(id) })));
    },
    hear: tell,
    get waiting() {
      return listeners.size;
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
