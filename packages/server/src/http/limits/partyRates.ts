import type { LimitedCaller, RateLimits } from "../../model/keys/caller.js";
import { createAddressShares } from "./addressShares.js";
import { createLocalRateLimiter, type RateUnit } from "./localRateLimiter.js";

/** The rates of a key on one replica, and of each address under a publishable one. */
export interface PartyRates {
  readonly ofKey: RateLimits;
  readonly ofAddress: RateLimits;
}

/** Counts something of a party. @throws {@link RateExceededError}, and then counts nothing. */
export type CountOfParty = (caller: LimitedCaller, count: number) => void;

/**
 * Counts for the address under a publishable key, and for the whole key, which its addresses share: pages that run wild cost
 * their addresses alone.
 */
export function countParties(
  rates: () => PartyRates,
  unit: RateUnit,
  now: () => number = () => performance.now(),
): CountOfParty {
  const keys = createAddressShares(unit, now);
  const addresses = createLocalRateLimiter(now, unit);
  return (caller, asked) => {
    const { ofKey, ofAddress } = rates();
    // A count above the burst could never pass.
    const count = Math.min(asked, ofAddress.rateBurst, ofKey.rateBurst);
    const atAddress = { ...caller, limits: ofAddress };
    const hasAddress = caller.address !== undefined;
    if (hasAddress) addresses.take(atAddress, count);
    try {
      keys.take({ ...caller, limits: ofKey }, count);
    } catch (error) {
      if (hasAddress) addresses.refund(atAddress, count);
      throw error;
    }
  };
}
