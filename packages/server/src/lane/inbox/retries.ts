import { forgetOldest } from "../../util/forgetOldest.js";

/**
 * The submissions that a lane has set aside (D28) and tries again. Perhaps a wrapper lies at fault, perhaps the nodes:
 *
 * - While nodes refuse retries, each may cost a request of its own, and new submissions wait for the exchange. So retries have
 *   a bounded part of the lane's time. While nodes take them, nothing is bounded.
 * - Where no answer of an exchange showed a node at work, its submissions are *suspects* for no reason of their own. Their
 *   pauses end when a node takes a wrapper.
 */
export type Retries = ReturnType<typeof createRetries>;

/** After an exchange in vain, the next one is this many times as long away as it took, up to {@link MAX_REST_MS}. */
const REST_FACTOR = 4;
const MAX_REST_MS = 1_000;
/** The most in a step after an exchange of which less than half was taken. */
const MOST_AFTER_REFUSALS = 16;
/** A submission that was woken for nothing is woken again after this time, then after twice as long: its pauses have to grow. */
const MIN_WAKE_MS = 2_000;
const MAX_WAKE_MS = 30_000;

/** A submission that was set aside, and of which no node has taken a wrapper since. */
interface SetAside {
  readonly isSuspect: boolean;
  readonly wakings: number;
  readonly wokenAt: number;
}

/** @param now a monotonic clock in ms. */
export function createRetries(now: () => number = () => performance.now()) {
  const setAside = new Map<string, SetAside>();
  let restsUntil = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;
  const mayWake = ({ isSuspect, wakings, wokenAt }: SetAside) =>
    isSuspect && now() - wokenAt >= Math.min(MAX_WAKE_MS, MIN_WAKE_MS * 2 ** (wakings - 1));
  return {
    /** The most retries in a step that begins now, later submissions of their senders included. */
    get mostNow() {
      return now() < restsUntil ? 0 : most;
    },
    /** The lane has set the submission aside, and no node has taken a wrapper of it since. */
    isRetry: (id: string) => setAside.has(id),
    /** @param isNodeAtWork some answer of their exchange was clear, whatever it said. */
    onSetAside(ids: readonly string[], isNodeAtWork: boolean) {
      for (const id of ids) {
        const { wakings = 0, wokenAt = Number.NEGATIVE_INFINITY } = setAside.get(id) ?? {};
        setAside.delete(id);
        setAside.set(id, { isSuspect: !isNodeAtWork, wakings, wokenAt });
        forgetOldest(setAside);
      }
    },
    /**
     * Nodes have taken wrappers, at least one.
     * @returns the suspects that may come again at once. One that was woken a moment ago stays a suspect until it may.
     */
    onTaken(ids: readonly string[]): string[] {
      for (const id of ids) setAside.delete(id);
      const woken = [...setAside].filter(([, one]) => mayWake(one));
      for (const [id, { wakings }] of woken)
        setAside.set(id, { isSuspect: false, wakings: wakings + 1, wokenAt: now() });
      return woken.map(([id]) => id);
    },
    /**
     * Makes an exchange of retries. Its time includes what follows from the answers.
     * @param exchange returns the number of those that a node has taken.
     */
    async inExchange(sent: number, exchange: () => Promise<number>): Promise<void> {
      const begunAt = now();
      const refusedShare = 1 - (await exchange()) / sent;
      restsUntil = now() + Math.min(MAX_REST_MS, REST_FACTOR * (now() - begunAt) * refusedShare);
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
