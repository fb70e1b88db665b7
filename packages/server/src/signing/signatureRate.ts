import { Ledger, type Terms } from "../util/ledger.js";

/** The part of a second's tokens that may be used at once: a timer that fires late loses none. */
const BURST_S = 0.1;
const THROTTLED_SHARE = 0.9;
/** A bit more than a second, because the custody measures at the other end of a network. */
const WINDOW_MS = 1_005;
/** Throttling answers within this time belong to the same excess, in ms. */
const SAME_EXCESS_MS = 250;
const LEAST_PAUSE_MS = 100;
/** The part of the full rate that comes back in a second without throttling. */
const RECOVERY_PER_S = 0.02;
const LEAST_RATE = 1;
const CUSTODY = "the custody";

export type SignatureRate = ReturnType<typeof createSignatureRate>;

/**
 * The pace of calls to one custody: a token bucket, whose rate follows the custody's throttling answers. No second has more
 * calls than the rate, with the burst after a pause too.
 * @param full the rate without throttling, in signatures per second.
 * @param now a monotonic clock in ms.
 */
export function createSignatureRate(full: number, now: () => number = () => performance.now()) {
  const calledFor = new Ledger(now);
  let perSecond = full;
  let recoveredAt = now();
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let reducedAt = Number.NEGATIVE_INFINITY;
  /** The times of the calls within the window. */
  const calls: number[] = [];
  /** Returns the time in ms until the window has room for another call. */
  const untilRoom = (time: number) => {
    while (calls[0] !== undefined && time - calls[0] >= WINDOW_MS) calls.shift();
    const first = calls[calls.length - Math.max(1, Math.floor(perSecond))];
    return first === undefined ? 0 : WINDOW_MS - (time - first);
  };
  const recover = (time: number) => {
    const seconds = Math.max(0, time - Math.max(recoveredAt, pausedUntil)) / 1_000;
    perSecond = Math.min(full, perSecond + full * RECOVERY_PER_S * seconds);
    recoveredAt = time;
  };
  return {
    /** The present rate, in signatures per second. */
    get perSecond() {
      return perSecond;
    },
    /** Takes a token. Returns 0 if there was one, and otherwise the time in ms until there may be. */
    take() {
      const time = now();
      if (time < pausedUntil) return pausedUntil - time;
      recover(time);
      const restMs = untilRoom(time) || calledFor.take(CUSTODY, 1, termsOf(perSecond));
      if (restMs === 0) calls.push(time);
      return restMs;
    },
    /** Takes note that the custody took a call for one too many. */
    throttle(retryAfterMs = 0) {
      const time = now();
      recover(time);
      pausedUntil = Math.max(pausedUntil, time + Math.max(LEAST_PAUSE_MS, retryAfterMs));
      if (time - reducedAt < SAME_EXCESS_MS) return;
      reducedAt = time;
      perSecond = Math.max(Math.min(full, LEAST_RATE), perSecond * THROTTLED_SHARE);
    },
  };
}

function termsOf(perSecond: number): Terms {
  return { ratePerSecond: perSecond, rateBurst: Math.max(1, perSecond * BURST_S) };
}
