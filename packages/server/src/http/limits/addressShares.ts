import type { LimitedCaller, RateLimits } from "../../model/keys/caller.js";
import { forgetOldest } from "../../util/forgetOldest.js";
import { type RateUnit, rateExceeded } from "./localRateLimiter.js";

/** Limits each key on this replica, and shares its rate among the addresses behind it. */
export interface AddressShares {
  /** @throws {@link RateExceededError}, and counts nothing, if the key or the address's share of it has too few tokens. */
  take(caller: LimitedCaller & { readonly limits: RateLimits }, count: number): void;
}

/** The used tokens of a key. */
interface KeyUse {
  /** By address: all that have not come back. A key without addresses has one entry. */
  readonly ofAddresses: Map<string, number>;
  total: number;
  /** The time up to which tokens have come back, in ms. */
  at: number;
}

/** Keys that are kept: the latest ones. */
const MAX_KEYS = 10_000;
/** Tokens come back at this interval, because each time visits all addresses with used ones: two for each token of the burst. */
const RETURN_MS = 5;
/** The tolerance in tokens: fractions do not add up exactly. */
const ROUNDING = 1e-6;
/** The party of a key without addresses. */
const WHOLE_KEY = "";

/**
 * Keeps a token bucket for each key. Tokens come back to all addresses that have used some, in equal parts, and no address
 * may have used more than are free. So one that floods leaves half of the burst to others, two leave a third, and an
 * address that uses little finds tokens while the floods are refused; alone, an address gets the whole rate.
 */
export function createAddressShares(
  unit: RateUnit,
  now: () => number = () => performance.now(),
): AddressShares {
  const keys = new Map<string, KeyUse>();
  const useOf = (keyId: string, at: number): KeyUse => {
    const use = keys.get(keyId) ?? { ofAddresses: new Map(), total: 0, at };
    keys.delete(keyId);
    keys.set(keyId, use);
    forgetOldest(keys, MAX_KEYS);
    return use;
  };
  return {
    take({ keyId, address = WHOLE_KEY, limits }, count) {
      const at = now();
      const use = useOf(keyId, at);
      returnTokens(use, limits, at);
      const free = limits.rateBurst - use.total;
      const used = use.ofAddresses.get(address) ?? 0;
      const ownFree = address === WHOLE_KEY ? free : free - used;
      if (count > ownFree + ROUNDING) {
        const owner = count > free + ROUNDING ? "the key's" : "this address's share of the key's";
        throw rateExceeded(limits, count, ownFree, unit, owner);
      }
      use.ofAddresses.set(address, used + count);
      use.total += count;
    },
  };
}

/** Gives the tokens of the time since `use.at` back in equal parts. What an address does not need goes to the others. */
function returnTokens(use: KeyUse, { ratePerSecond }: RateLimits, at: number): void {
  if (at - use.at < RETURN_MS) return;
  let tokens = ((at - use.at) * ratePerSecond) / 1_000;
  use.at = at;
  const { ofAddresses } = use;
  while (tokens > ROUNDING && ofAddresses.size > 0) {
    const part = tokens / ofAddresses.size;
    tokens = 0;
    for (const [address, used] of ofAddresses) {
      if (used > part + ROUNDING) {
        ofAddresses.set(address, used - part);
        continue;
      }
      ofAddresses.delete(address);
      tokens += Math.max(0, part - used);
    }
  }
  use.total = [...ofAddresses.values()].reduce((sum, used) => sum + used, 0);
}
