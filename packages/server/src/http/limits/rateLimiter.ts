import type { Caller, LimitedCaller, RateLimits } from "../../model/keys/caller.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { TokenStore } from "../../store/keys/tokenStore.js";
import { batched } from "../../util/batched.js";
import { within } from "../../util/within.js";
import { bucketsOf, type RateState, Rates } from "./rates.js";

/** The tokens of one request: one for each transaction. */
export interface TakenTokens {
  readonly state: RateState;
  /** Puts the tokens back. For requests that are refused for another reason. */
  refund(): void;
}

type RatedCaller = LimitedCaller & Pick<Caller, "publishable"> & { readonly limits: RateLimits };

export type RateLimiter = ReturnType<typeof createRateLimiter>;

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
/** The share of a key's burst that a replica takes in advance. Besides refunds, at most this share is idle on each replica. */
const PREFETCH_SHARE = 0.05;
/** Tokens that were idle for this long go back to the store, for other replicas. */
const IDLE_MS = 500;
/** When the store takes longer than this, the replica decides alone. */
const STORE_TIMEOUT_MS = 1_000;
/** `close` waits this long for the store. */
const CLOSE_TIMEOUT_MS = 200;

/**
 * Limits the transactions of each key over all replicas (D22), and before that, on this replica, those of each address under
 * a publishable key (D32): an address that is too fast takes nothing from the others.
 *
 * All replicas together keep to a key's rate and burst, because every token comes from the one store, and each replica counts by the
 * store's latest answer. A key may miss the tokens that are idle on other replicas: a twentieth of its burst on each, for a second at
 * most. When the store does not answer, each replica falls back to its own count.
 */
export function createRateLimiter({
  tokenStore,
  log,
  now = () => performance.now(),
}: RateLimiterDependencies) {
  const rates = new Rates("transactions", now);
  const heldByKey = new Map<string, ReturnType<typeof createHeldTokens>>();
  const heldOf = (keyId: string) => {
    const held = heldByKey.get(keyId) ?? createHeldTokens(keyId, tokenStore, now);
    heldByKey.set(keyId, held);
    return held;
  };
  const returnIdle = async (idleMs: number) => {
    const logFailure = (error: Error) => log.debug({ err: error.message }, "unused tokens were not returned");
    await Promise.all([...heldByKey.values()].map((held) => held.returnIdle(idleMs).catch(logFailure)));
  };
  const timer = setInterval(() => void returnIdle(IDLE_MS), IDLE_MS);
  return {
    /** @throws `RateRefusal`, and counts nothing, if the key or the address has too few tokens for the transactions. */
    async take(caller: RatedCaller, count: number): Promise<TakenTokens> {
      const { keyId, limits, publishable } = caller;
      const ofKey = bucketsOf({ keyId }, limits);
      const ofAddress = publishable && caller.address ? bucketsOf(caller, publishable.addressRate) : [];
      const buckets = [...ofAddress, ...ofKey];
      // The rest of the key would tell everybody who has the key how much others use.
      const told = ofAddress.length > 0 ? ofAddress : ofKey;
      rates.take(buckets, count);
      const state = rates.stateOf(told);
      const refund = () => rates.refund(buckets, count);
      if (limits.ratePerSecond >= LOCAL_ONLY_RATE) return { state, refund };
      const held = heldOf(keyId);
      const answer = await within(STORE_TIMEOUT_MS, held.take({ count, limits })).catch(() => undefined);
      if (answer === undefined) return { state, refund };
      if (!answer.isGranted) refund();
      if (Number.isFinite(answer.available)) rates.learn(ofKey, answer.available);
      if (!answer.isGranted) throw rates.refusalOf({ limits, owner: "the key's" }, count, answer.available);
      return {
        state: rates.stateOf(told),
        refund() {
          refund();
          held.refund(count);
        },
      };
    },
    /** Returns unused tokens to the store. */
    async close(): Promise<void> {
      clearInterval(timer);
      await within(CLOSE_TIMEOUT_MS, returnIdle(0)).catch(() => {});
    },
  };
}

interface Asked {
  readonly count: number;
  readonly limits: RateLimits;
}

/** The tokens of one key on one replica. The store hands them out a few at a time, and this replica spends them. */
function createHeldTokens(keyId: string, tokenStore: TokenStore, now: () => number) {
  let tokens = 0;
  let usedAt = 0;
  /** Asks the store for the tokens of all waiting requests together, beside those of this replica. */
  const ask = batched(async (asked: readonly Asked[]) => {
    const limits = asked.at(-1)?.limits ?? { ratePerSecond: 0, rateBurst: 0 };
    const held = tokens;
    tokens = 0;
    let left = held;
    const needs = asked.map(({ count }) => {
      const own = Math.min(left, count);
      left -= own;
      return count - own;
    });
    const share = Math.floor(PREFETCH_SHARE * limits.rateBurst);
    // A client of large batches asks the store for each of them in any case.
    const prefetch = needs.every((need) => need < share) ? share : 0;
    try {
      const { granted, prefetched, available } = await tokenStore.take({ keyId, limits, needs, prefetch });
      const unused = needs.map((need, i) => (granted[i] ? 0 : (asked[i]?.count ?? need) - need));
      tokens += unused.reduce((sum, own) => sum + own, left + prefetched);
      return granted.map((isGranted) => ({ isGranted, available: available + tokens }));
    } catch (error) {
      tokens += held;
      throw error;
    }
  });
  return {
    /** @returns with the tokens that are left over all replicas: no finite number where the store was not asked. Throws the store's error, and takes nothing. */
    async take(asked: Asked) {
      usedAt = now();
      if (asked.count > tokens) return await ask(asked);
      tokens -= asked.count;
      return { isGranted: true, available: Number.POSITIVE_INFINITY };
    },
    refund(count: number) {
      tokens += count;
    },
    /** Returns the tokens to the store, for other replicas, if none was used for `idleMs`. */
    async returnIdle(idleMs: number): Promise<void> {
      if (tokens === 0 || now() - usedAt < idleMs) return;
      const count = tokens;
      tokens = 0;
      await tokenStore.giveBack(keyId, count);
    },
  };
}
