import type { Logger } from "../../model/log.js";
import type { TokenStore } from "../../store/tokenStore.js";
import {
  createRateLimiter,
  type RatedCaller,
  RateExceededError,
  type RateState,
} from "./localRateLimiter.js";
import { TokenBucket } from "./tokenBucket.js";

/** Limits transactions per key over all replicas (D22). */
export interface RateLimiter {
  /** @throws {@link RateExceededError} and counts nothing, if the transactions do not fit. */
  take(caller: RatedCaller, count: number): Promise<Taken>;
  /** Gives back what is not used. */
  close(): Promise<void>;
}

/** Transactions that were counted. */
export interface Taken {
  readonly state: RateState;
  /** They were refused for another reason: they count no more. */
  giveBack(): void;
}

export interface SharedLimiterDependencies {
  readonly bank: TokenStore;
  readonly log: Logger;
  /** In ms. */
  readonly now?: () => number;
}

/** No number of replicas checks so many signatures a second: such a limit is none, and costs no question. */
const UNREACHABLE = 100_000;
/** How long tokens may lie idle before others get them. */
const IDLE_MS = 500;
/** How long the bank may take to answer before this replica decides alone. */
const PATIENCE_MS = 1_000;
/** How long the end waits for it. */
const GOODBYE_MS = 200;

/**
 * What goes through all replicas together never exceeds a key's rate and burst, because every token comes from the one
 * bank. What lies idle on other replicas, a twentieth of the burst on each for half a second, is what a key may miss.
 * A bank that does not answer, which is the store, leaves each replica with the limit of its own.
 */
export function createSharedRateLimiter({
  bank,
  log,
  now = () => performance.now(),
}: SharedLimiterDependencies): RateLimiter {
  // Whoever is too fast for one replica is so for all, and costs no question.
  const local = createRateLimiter(now);
  const purses = new Map<string, TokenBucket>();
  const purseOf = ({ keyId, limits }: RatedCaller): TokenBucket => {
    const purse = purses.get(keyId) ?? new TokenBucket({ keyId, bank, now }, limits);
    purses.set(keyId, purse);
    return purse;
  };
  const giveBackIdle = (idleMs: number) =>
    Promise.all(
      [...purses.values()].map((purse) =>
        purse
          .giveBack(idleMs)
          .catch((error: Error) => log.debug({ err: error.message }, "tokens could not be given back")),
      ),
    );
  const timer = setInterval(() => void giveBackIdle(IDLE_MS), IDLE_MS);
  return {
    async take(caller, count) {
      const own = local.take(caller, count);
      const alone = { state: own, giveBack: () => local.giveBack(caller, count) };
      if (caller.limits.ratePerSecond >= UNREACHABLE) return alone;
      const purse = purseOf(caller);
      try {
        const shared = await within(PATIENCE_MS, purse.take(caller.limits, count));
        if (shared === undefined) return alone;
        const giveBack = () => {
          alone.giveBack();
          purse.put(count);
        };
        return { state: shared.remaining < own.remaining ? shared : own, giveBack };
      } catch (error) {
        if (!(error instanceof RateExceededError)) return alone;
        alone.giveBack();
        throw error;
      }
    },
    async close() {
      clearInterval(timer);
      await within(GOODBYE_MS, giveBackIdle(0));
    },
  };
}

/** Undefined if it takes longer; what becomes of it then is nobody's concern. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
