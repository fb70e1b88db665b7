import type { Entries, PartOf } from "../law/entries.js";

/**
 * The submissions that a lane has set aside (D28) and tries again. Perhaps a wrapper lies at fault, perhaps the nodes:
 *
 * - While nodes refuse retries, each may cost a request of its own, and new submissions wait for the exchange. So retries have
 *   a bounded part of the lane's time. While nodes take them, nothing is bounded.
 * - Where no answer of an exchange showed a node at work, its submissions are *suspects* for no reason of their own. Their
 *   pauses end when a node takes a wrapper.
 */
export interface Retries {
  /** The most retries in a step that begins now, later submissions of their senders included. */
  readonly mostNow: number;
  /** The lane has set the submission aside, and no node has taken a wrapper of it since. */
  isRetry(id: string): boolean;
}

export type RetryMemory = ReturnType<typeof createRetries>;

/** After an exchange in vain, the next one is this many times as long away as it took, up to {@link MAX_REST_MS}. */
const REST_FACTOR = 4;
const MAX_REST_MS = 1_000;
/** The most in a step after an exchange of which less than half was taken. */
const MOST_AFTER_REFUSALS = 16;
/** A submission that was woken for nothing is woken again after this time, then after twice as long. */
const MIN_WAKE_MS = 2_000;
const MAX_WAKE_MS = 30_000;

/** @param now a monotonic clock in ms. */
export function createRetries(entries: Entries, now: () => number = () => performance.now()) {
  let restsUntil = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;
  const mayWake = ({ isSuspect, wakings, wokenAt }: PartOf<"retry">) =>
    isSuspect && now() - wokenAt >= Math.min(MAX_WAKE_MS, MIN_WAKE_MS * 2 ** (wakings - 1));
  return {
    get mostNow() {
      return now() < restsUntil ? 0 : most;
    },
    isRetry: (id: string) => entries.get(id, "retry") !== undefined,
    /** @param isNodeAtWork some answer of their exchange was clear, whatever it said. */
    onSetAside(ids: readonly string[], isNodeAtWork: boolean) {
      for (const id of ids) {
        const { wakings = 0, wokenAt = Number.NEGATIVE_INFINITY } = entries.get(id, "retry") ?? {};
        entries.set(id, "retry", { isSuspect: !isNodeAtWork, wakings, wokenAt });
      }
    },
    /**
     * Nodes have taken wrappers, at least one.
     * @returns the suspects that may come again at once. The times between two wakings of a submission double from
     *   {@link MIN_WAKE_MS}, so that what no node takes costs little; until then it stays a suspect.
     */
    onTaken(ids: readonly string[]): string[] {
      for (const id of ids) entries.set(id, "retry", undefined);
      const woken = entries.having("retry").filter(([, retry]) => mayWake(retry));
      for (const [id, { wakings }] of woken)
        entries.set(id, "retry", { isSuspect: false, wakings: wakings + 1, wokenAt: now() });
      return woken.map(([id]) => id);
    },
    /**
     * An exchange of retries has ended.
     * @param ms the time of the exchange, with what followed from the answers.
     */
    onExchange({ sent, taken, ms }: { readonly sent: number; readonly taken: number; readonly ms: number }) {
      const refusedShare = 1 - taken / sent;
      restsUntil = now() + Math.min(MAX_REST_MS, REST_FACTOR * ms * refusedShare);
      most = refusedShare > 1 / 2 ? MOST_AFTER_REFUSALS : Number.POSITIVE_INFINITY;
    },
  };
}

const MIN_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;

/**
 * Returns the pause of a submission that is set aside, in ms. It doubles with each wrapper of the submission.
 * @param signings the number of its wrappers, at least one.
 */
export function setAsidePauseMs(signings: number): number {
  return Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** (signings - 1));
}
