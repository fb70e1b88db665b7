import type { Logger } from "../../model/telemetry/log.js";
import type { TokenStore } from "../../store/keys/tokenStore.js";
import { within } from "../../util/within.js";
import {
  createLocalRateLimiter,
  type RatedCaller,
  RateExceededError,
  type TakenTokens,
} from "./localRateLimiter.js";
import { TokenBucket } from "./tokenBucket.js";

/**
 * Limits the transactions of each key over all replicas (D22), and before that, on this replica, those of each address under
 * a publishable key (D32).
 */
export interface RateLimiter {
  /** @throws {@link RateExceededError}, and counts nothing, if the key has too few tokens for the transactions. */
  take(caller: RatedCaller, count: number): Promise<TakenTokens>;
  /** Returns unused tokens to the store. */
  close(): Promise<void>;
}

type TakeTokens = (caller: RatedCaller, count: number) => Promise<TakenTokens>;

export interface RateLimiterDependencies {
  readonly tokenStore: TokenStore;
  readonly log: Logger;
  /** Returns the time in ms. */
  readonly now?: () => number;
}

/**
 * A key with this rate a second, or a higher one, has only its local limit on each replica: no number of replicas checks so
 * many signatures.
 */
const LOCAL_ONLY_RATE = 100_000;
/** Tokens that were idle for this long go back to the store, for other replicas. */
const IDLE_MS = 500;
/** When the store takes longer than this, the replica decides alone. */
const STORE_TIMEOUT_MS = 1_000;
/** `close` waits this long for the store. */
const CLOSE_TIMEOUT_MS = 200;

/**
 * All replicas together keep to a key's rate and burst, because every token comes from the one store. A key may miss the
 * tokens that are idle on other replicas: a twentieth of its burst on each, for a second at most. When the store does not
 * answer, each replica falls back to its local limit.
 */
export function createRateLimiter(dependencies: RateLimiterDependencies): RateLimiter {
  const { tokenStore, log, now = () => performance.now() } = dependencies;
  // A key that is too fast for one replica is too fast for all, and needs no query.
  const local = createLocalRateLimiter(now);
  const buckets = new Map<string, TokenBucket>();
  const bucketOf = ({ keyId, limits }: RatedCaller): TokenBucket => {
    const bucket = buckets.get(keyId) ?? new TokenBucket({ keyId, tokenStore, now }, limits);
    buckets.set(keyId, bucket);
    return bucket;
  };
  const returnIdle = async (idleMs: number) => {
    const logFailure = (error: Error) => log.debug({ err: error.message }, "unused tokens were not returned");
    await Promise.all([...buckets.values()].map((bucket) => bucket.returnIdle(idleMs).catch(logFailure)));
  };
  const timer = setInterval(() => void returnIdle(IDLE_MS), IDLE_MS);
  /** Takes tokens of a key, for all of its addresses together. */
  const takeOfKey = async (caller: RatedCaller, count: number): Promise<TakenTokens> => {
    const localState = local.take(caller, count);
    const localTokens = { state: localState, refund: () => local.refund(caller, count) };
    if (caller.limits.ratePerSecond >= LOCAL_ONLY_RATE) return localTokens;
    const bucket = bucketOf(caller);
    try {
      const shared = await within(STORE_TIMEOUT_MS, bucket.take(caller.limits, count));
      const refund = () => {
        localTokens.refund();
        bucket.refund(count);
      };
      return { state: shared.remaining < localState.remaining ? shared : localState, refund };
    } catch (error) {
      if (!(error instanceof RateExceededError)) return localTokens;
      localTokens.refund();
      throw error;
    }
  };
  return {
    take: limitAddresses(takeOfKey, now),
    async close() {
      clearInterval(timer);
      await within(CLOSE_TIMEOUT_MS, returnIdle(0)).catch(() => {});
    },
  };
}

/**
 * Limits, on this replica, each address under a publishable key (D32), before the key itself: an address that is too fast
 * takes nothing from the others.
 * @param takeOfKey takes the tokens of the key, which count for all of its addresses together.
 */
function limitAddresses(takeOfKey: TakeTokens, now: () => number): TakeTokens {
  const ofAddresses = createLocalRateLimiter(now);
  return async (caller, count) => {
    const { keyId, limits, address, publishable } = caller;
    if (address === undefined || publishable === undefined) return await takeOfKey(caller, count);
    const addressCaller = { ...caller, limits: publishable.addressRate };
    const state = ofAddresses.take(addressCaller, count);
    const refund = () => ofAddresses.refund(addressCaller, count);
    const ofKey = await takeOfKey({ keyId, limits }, count).catch((error: unknown) => {
      refund();
      throw error;
    });
    return {
      state: state.remaining < ofKey.state.remaining ? state : ofKey.state,
      refund() {
        refund();
        ofKey.refund();
      },
    };
  };
}
