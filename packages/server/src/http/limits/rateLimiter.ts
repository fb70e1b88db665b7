import type { Caller, LimitedCaller, RateLimits } from "../../model/keys/caller.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { TokenStore } from "../../store/keys/tokenStore.js";
import { within } from "../../util/within.js";
import { bucketOf, RateRefusal, type RateState, Rates } from "./rates.js";
import { TokenBucket } from "./tokenBucket.js";

/** The tokens of one request: one for each transaction. */
export interface TakenTokens {
  readonly state: RateState;
  /** Puts the tokens back. For requests that are refused for another reason. */
  refund(): void;
}

type RatedCaller = LimitedCaller & Pick<Caller, "publishable"> & { readonly limits: RateLimits };

/**
 * Limits the transactions of each key over all replicas (D22), and before that, on this replica, those of each address under
 * a publishable key (D32): an address that is too fast takes nothing from the others.
 */
export interface RateLimiter {
  /** @throws {@link RateRefusal}, and counts nothing, if the key or the address has too few tokens for the transactions. */
  take(caller: RatedCaller, count: number): Promise<TakenTokens>;
  /** Returns unused tokens to the store. */
  close(): Promise<void>;
}

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
  const local = new Rates("transactions", now);
  const buckets = new Map<string, TokenBucket>();
  const sharedOf = ({ keyId, limits }: RatedCaller): TokenBucket => {
    const bucket = buckets.get(keyId) ?? new TokenBucket({ keyId, tokenStore, now }, limits);
    buckets.set(keyId, bucket);
    return bucket;
  };
  const returnIdle = async (idleMs: number) => {
    const logFailure = (error: Error) => log.debug({ err: error.message }, "unused tokens were not returned");
    await Promise.all([...buckets.values()].map((bucket) => bucket.returnIdle(idleMs).catch(logFailure)));
  };
  const timer = setInterval(() => void returnIdle(IDLE_MS), IDLE_MS);
  return {
    async take(caller, count) {
      // A key that is too fast for one replica is too fast for all, and needs no query.
      const ofReplica = bucketsOf(caller);
      const localState = local.take(ofReplica, count);
      const localTokens = { state: localState, refund: () => local.refund(ofReplica, count) };
      if (caller.limits.ratePerSecond >= LOCAL_ONLY_RATE) return localTokens;
      const bucket = sharedOf(caller);
      try {
        const shared = await within(STORE_TIMEOUT_MS, bucket.take(caller.limits, count));
        const refund = () => {
          localTokens.refund();
          bucket.refund(count);
        };
        return { state: shared.remaining < localState.remaining ? shared : localState, refund };
      } catch (error) {
        if (!(error instanceof RateRefusal)) return localTokens;
        localTokens.refund();
        throw error;
      }
    },
    async close() {
      clearInterval(timer);
      await within(CLOSE_TIMEOUT_MS, returnIdle(0)).catch(() => {});
    },
  };
}

/** The buckets of a request on this replica: of its address, and of its key for all addresses together. */
function bucketsOf({ keyId, address, site, limits, publishable }: RatedCaller) {
  const ofKey = bucketOf({ keyId }, limits);
  if (address === undefined || publishable === undefined) return [ofKey];
  return [bucketOf({ keyId, address, ...(site && { site }) }, publishable.addressRate), ofKey];
}
