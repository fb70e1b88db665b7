/** Tells the submissions that a lane tries again, and how many of them a step may have. */
export interface Retries {
  /** The most retries in a step that begins now, later submissions of their senders included. */
  readonly mostNow: number;
  /** The lane has set the submission aside, and no node has taken a wrapper of it since. */
  isRetry(id: string): boolean;
}

/**
 * Bounds the time that a lane spends on submissions that it has set aside. While nodes refuse them, each wrapper may cost a
 * request of its own, and new submissions wait for the exchange. While nodes take them, nothing is bounded.
 */
export interface RetryPace extends Retries {
  onSetAside(id: string): void;
  /** An exchange of such submissions has ended. */
  onExchange(exchange: RetryExchange): void;
}

export interface RetryExchange {
  readonly ids: readonly string[];
  /** The ids of those whose wrappers the node has taken. */
  readonly accepted: readonly string[];
  /** The time of the exchange, with what followed from the answers. */
  readonly ms: number;
}

/** After an exchange in vain, the next one is this many times as long away as it took, up to {@link MAX_REST_MS}. */
const REST_FACTOR = 4;
const MAX_REST_MS = 1_000;
/** The most in a step after an exchange of which less than half was taken. */
const MOST_AFTER_REFUSALS = 16;
/** The most submissions that are remembered. The oldest are forgotten, and come without a pace once more. */
const MAX_REMEMBERED = 10_000;

/** @param now a monotonic clock in ms. */
export function createRetryPace(now: () => number = () => performance.now()): RetryPace {
  let restsUntil = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;
  const setAside = new Set<string>();
  return {
    get mostNow() {
      return now() < restsUntil ? 0 : most;
    },
    isRetry: (id) => setAside.has(id),
    onSetAside(id) {
      setAside.delete(id);
      setAside.add(id);
      const [oldest] = setAside;
      if (setAside.size > MAX_REMEMBERED && oldest !== undefined) setAside.delete(oldest);
    },
    onExchange({ ids, accepted, ms }) {
      for (const id of accepted) setAside.delete(id);
      const refusedShare = 1 - accepted.length / ids.length;
      restsUntil = now() + Math.min(MAX_REST_MS, REST_FACTOR * ms * refusedShare);
      most = refusedShare > 1 / 2 ? MOST_AFTER_REFUSALS : Number.POSITIVE_INFINITY;
    },
  };
}
