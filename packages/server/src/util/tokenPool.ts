/** Tokens that come back with time: `burst` at most, and `perSecond` of them each second. */
export interface TokenRate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Gives tokens away, one at a time. */
export interface TokenPool {
  /** Returns false, and takes nothing, if there is no token. */
  take(): boolean;
  /** True if all tokens are there, so that the pool can be forgotten. */
  readonly isFull: boolean;
}

/** @param now a monotonic clock in ms. */
export function createTokenPool({ burst, perSecond }: TokenRate, now: () => number): TokenPool {
  let tokens = burst;
  let at = now();
  const refill = () => {
    const time = now();
    tokens = Math.min(burst, tokens + ((time - at) * perSecond) / 1_000);
    at = time;
    return tokens;
  };
  return {
    take() {
      if (refill() < 1) return false;
      tokens -= 1;
      return true;
    },
    get isFull() {
      return refill() >= burst;
    },
  };
}
