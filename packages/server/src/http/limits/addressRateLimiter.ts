import type { RatedCaller, TakenTokens } from "./localRateLimiter.js";
import { createAddressRates } from "./partyRates.js";

type TakeTokens = (caller: RatedCaller, count: number) => Promise<TakenTokens>;

/**
 * Limits, on this replica, each address under a publishable key (D32), before the key itself: an address that is too fast
 * takes nothing from the others.
 * @param takeOfKey takes the tokens of the key, which count for all of its addresses together.
 */
export function limitAddresses(takeOfKey: TakeTokens, now: () => number): TakeTokens {
  const ofAddresses = createAddressRates(now);
  return async (caller, count) => {
    const { keyId, limits, address, site, publishable } = caller;
    if (address === undefined || publishable === undefined) return await takeOfKey(caller, count);
    const place = { address, ...(site !== undefined && { site }) };
    const addressCaller = { keyId, ...place, limits: publishable.addressRate };
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
