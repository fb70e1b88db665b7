import type { Logger } from "../model/log.js";
import type { Failure, Submission } from "../model/submission.js";
import type { ChangedSubmission } from "../store/lanes/heldLane.js";
import type { Store } from "../store/store.js";
import { findSubmissions } from "../store/submissions/findSubmissions.js";

/** News of a submission: of a broadcast as soon as the node has taken it, of the rest after it was committed. */
export type SubmissionUpdate =
  | { readonly state: "broadcast" }
  | { readonly state: "included"; readonly reverted: boolean }
  | ({ readonly state: "failed" } & Failure);

export type UpdateListener = (id: string, notice: SubmissionUpdate) => void;

/** Carries news from the lanes to the lines that wait for it, on whichever replica. */
export interface Results {
  /** Tells what became of these, after the commit. */
  publish(moved: readonly ChangedSubmission[], noticeOf: (id: string) => SubmissionUpdate): void;
  /** Calls the listener for news of these ids, maybe more than once for the same, until the returned function is called. */
  subscribe(ids: readonly string[], listener: UpdateListener): () => void;
  /** Tells who waits on this replica: what another one told, or what the store is to learn yet. */
  notifyHere(id: string, notice: SubmissionUpdate): void;
  /** How many submissions are waited for. */
  readonly awaited: number;
  close(): void;
}

/** The news that a submission's state is, if it is any. */
export function updateOf(submission: Submission): SubmissionUpdate | undefined {
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
  notifyReplicas(
    news: readonly { readonly origin: string; readonly id: string; readonly notice: SubmissionUpdate }[],
  ): void;
}

/**
 * News of this replica's lanes comes at once, that of others' by notification; the store is asked now and then
 * for whatever was lost on the way.
 */
export function createResults({ store, log, replica, notifyReplicas }: ResultsDependencies): Results {
  const listeners = new Map<string, Set<UpdateListener>>();
  const tell = (id: string, notice: SubmissionUpdate) => {
    for (const listener of listeners.get(id) ?? []) listener(id, notice);
  };
  const poll = async () => {
    const ids = [...listeners.keys()];
    if (ids.length === 0) return;
    for (const submission of await findSubmissions(store, ids)) {
      const notice = updateOf(submission);
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
        notifyReplicas(others.map(({ id, origin }) => ({ id, origin, notice: noticeFor(id) })));
    },
    notifyHere: tell,
    get awaited() {
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
