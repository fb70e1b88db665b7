import type { ErrorValues } from "@gas-waiver/protocol";
import type { Failure, Inclusion, Submission, WithCause } from "../model/submission/submission.js";
import type { Logger } from "../model/telemetry/log.js";
import type { ChangedSubmission } from "../store/lanes/heldLane.js";
import type { Store } from "../store/store.js";
import { findSubmissions } from "../store/submissions/findSubmissions.js";

/** A new state of a submission: `broadcast` as soon as a node has taken it, the others once they are committed. */
export type SubmissionUpdate =
  | { readonly state: "broadcast" }
  | {
      readonly state: "included";
      readonly reverted: boolean;
      /** The block, and the gas that the InnerTx used, as decimal text, where this replica knows them. */
      readonly blockNumber?: string;
      readonly gasUsed?: string;
      /** The cause of the revert, if it is known in time. */
      readonly cause?: ErrorValues | undefined;
    }
  | ({ readonly state: "failed" } & Failure);

/** An update of a submission, for the replica that accepted it. */
export interface ResultNotification {
  /** The replica's name. */
  readonly origin: string;
  readonly id: string;
  readonly update: SubmissionUpdate;
}

export type UpdateListener = (id: string, update: SubmissionUpdate) => void;

/** Carries updates of submissions from the lanes to the result lines that wait for them, on whichever replica. */
export type Results = ReturnType<typeof createResults>;
/** Returns the update that a submission's state stands for; undefined if no line waits for that state. */
export function updateOf(submission: Submission): SubmissionUpdate | undefined {
  switch (submission.state) {
    case "queued":
    case "signed":
      return undefined;
    case "broadcast":
      return { state: "broadcast" };
    case "included":
      return includedUpdate(submission);
    case "failed":
      return {
        state: "failed",
        reason: submission.reason,
        message: submission.message,
        values: submission.values ?? {},
      };
  }
}

/** @param inclusion the block of the InnerTx; undefined if it is not known here. */
export function includedUpdate(
  inclusion: (Pick<Inclusion, "reverted" | "blockNumber" | "gasUsed"> & WithCause) | undefined,
): SubmissionUpdate {
  if (inclusion === undefined) return { state: "included", reverted: false };
  const { reverted, blockNumber, gasUsed, cause } = inclusion;
  return {
    state: "included",
    reverted,
    blockNumber: blockNumber.toString(),
    gasUsed: gasUsed.toString(),
    ...(cause && { cause }),
  };
}

const POLL_MS = 1_000;

export interface ResultsDependencies {
  readonly store: Store;
  readonly log: Logger;
  /** The name of this replica. */
  readonly replica: string;
  /** Notifies the replicas that accepted the submissions. */
  notifyReplicas(results: readonly ResultNotification[]): void;
}

/**
 * Updates by this replica's lanes reach its lines at once, those by other replicas' lanes by a notification. The store
 * is polled for updates whose notification was lost.
 */
export function createResults({ store, log, replica, notifyReplicas }: ResultsDependencies) {
  const listeners = new Map<string, Set<UpdateListener>>();
  const notifyHere = (id: string, update: SubmissionUpdate) => {
    for (const listener of listeners.get(id) ?? []) listener(id, update);
  };
  /** The reverted submissions whose cause the poll before did not find. */
  let withoutCause = new Set<string>();
  const poll = async () => {
    const ids = [...listeners.keys()];
    if (ids.length === 0) return;
    const before = withoutCause;
    withoutCause = new Set();
    for (const submission of await findSubmissions(store, ids)) {
      const update = updateOf(submission);
      const lacksCause = update?.state === "included" && update.reverted && !update.cause;
      if (lacksCause) withoutCause.add(submission.id);
      // Its notification may only wait for the cause.
      if (update && (!lacksCause || before.has(submission.id))) notifyHere(submission.id, update);
    }
  };
  const timer = setInterval(() => {
    poll().catch((error: Error) =>
      log.debug({ err: error.message }, "awaited submissions could not be looked up"),
    );
  }, POLL_MS);
  return {
    /** Notifies the lines of all replicas, after the commit. */
    publish(changed: readonly ChangedSubmission[], updateFor: (id: string) => SubmissionUpdate) {
      for (const { id } of changed) if (listeners.has(id)) notifyHere(id, updateFor(id));
      const remote = changed.filter(({ origin }) => origin !== replica);
      if (remote.length === 0) return;
      notifyReplicas(remote.map(({ id, origin }) => ({ id, origin, update: updateFor(id) })));
    },
    /** Notifies the lines on this replica: of another replica's update, or of one that is not stored yet. */
    notifyHere,
    /**
     * Calls the listener with the updates of these submissions, maybe more than once with the same.
     * @returns a function that ends the calls.
     */
    subscribe(ids: readonly string[], listener: UpdateListener) {
      for (const id of ids) {
        const subscribed = listeners.get(id) ?? new Set();
        listeners.set(id, subscribed.add(listener));
      }
      return () => {
        for (const id of ids) {
          const subscribed = listeners.get(id);
          subscribed?.delete(listener);
          if (subscribed?.size === 0) listeners.delete(id);
        }
      };
    },
    close: () => clearInterval(timer),
  };
}
