import type { LimitedCaller, RateLimits } from "../../model/keys/caller.js";
import { SHARES_OF_SITE } from "../../model/options/networkAddress.js";
import { createAddressShares } from "./addressShares.js";
import {
  createLocalRateLimiter,
  type LocalRateLimiter,
  type RatedCaller,
  type RateUnit,
} from "./localRateLimiter.js";

/** The rates of a key on one replica, and of each address under a publishable one. */
export interface PartyRates {
  readonly ofKey: RateLimits;
  readonly ofAddress: RateLimits;
}

/** Limits each address under a publishable key on this replica, and all of one IPv6 network of 48 bits together. */
export function createAddressRates(now: () => number, unit?: RateUnit): LocalRateLimiter {
  const addresses = createLocalRateLimiter(now, unit);
  const sites = createLocalRateLimiter(now, unit);
  return {
    take(caller, count) {
      const state = addresses.take(caller, count);
      const site = siteOf(caller);
      if (site === undefined) return state;
      try {
        sites.take(site, count);
      } catch (error) {
        addresses.refund(caller, count);
        throw error;
      }
      return state;
    },
    refund(caller, count) {
      addresses.refund(caller, count);
      const site = siteOf(caller);
      if (site) sites.refund(site, count);
    },
  };
}

function siteOf({ site, limits, ...caller }: RatedCaller): RatedCaller | undefined {
  if (site === undefined) return undefined;
  const ratePerSecond = SHARES_OF_SITE * limits.ratePerSecond;
  const rateBurst = SHARES_OF_SITE * limits.rateBurst;
  return { ...caller, address: site, limits: { ratePerSecond, rateBurst } };
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
  const addresses = createAddressRates(now, unit);
  return ({ keyId, address, site }, asked) => {
    const { ofKey, ofAddress } = rates();
    // A count above the burst could never pass.
    const count = Math.min(asked, ofAddress.rateBurst, ofKey.rateBurst);
    const place = { ...(address !== undefined && { address }), ...(site !== undefined && { site }) };
    const atAddress = { keyId, ...place, limits: ofAddress };
    if (address !== undefined) addresses.take(atAddress, count);
    try {
      keys.take({ ...atAddress, limits: ofKey }, count);
    } catch (error) {
      if (address !== undefined) addresses.refund(atAddress, count);
      throw error;
    }
  };
}
