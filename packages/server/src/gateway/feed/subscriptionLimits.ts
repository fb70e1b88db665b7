import { type LimitedCaller, partyOf } from "../../model/keys/caller.js";
import { Tally } from "../../util/tally.js";
import { GatewayRefusal, RPC_CODES } from "../jsonRpc.js";

/** The subscriptions that one connection may have. */
export const MAX_SUBSCRIPTIONS = 100;
/** Those that one address under a publishable key may have over all of its connections. */
export const MAX_ADDRESS_SUBSCRIPTIONS = 400;
export const MAX_KEY_SUBSCRIPTIONS = 10_000;

/** Bounds the subscriptions of each connection, address and key: each new block is compared with all of them. */
export class SubscriptionLimits {
  readonly #ofKeys = new Tally();
  readonly #ofAddresses = new Tally();

  /**
   * Counts a further subscription.
   * @param open those that the connection has.
   * @returns a function to call at the subscription's end.
   * @throws {@link GatewayRefusal}
   */
  enter(caller: LimitedCaller, open: number): () => void {
    const { keyId, address } = caller;
    if (open >= MAX_SUBSCRIPTIONS) throw full("connection", MAX_SUBSCRIPTIONS);
    if (address !== undefined && this.#ofAddresses.of(partyOf(caller)) >= MAX_ADDRESS_SUBSCRIPTIONS) {
      throw full("address", MAX_ADDRESS_SUBSCRIPTIONS);
    }
    if (this.#ofKeys.of(keyId) >= MAX_KEY_SUBSCRIPTIONS) throw full("key", MAX_KEY_SUBSCRIPTIONS);
    const add = (count: 1 | -1) => {
      this.#ofKeys.add(keyId, count);
      this.#ofAddresses.add(partyOf(caller), count);
    };
    add(1);
    return () => add(-1);
  }
}

function full(owner: string, limit: number): GatewayRefusal {
  return new GatewayRefusal(
    RPC_CODES.limitExceeded,
    `this ${owner} has ${limit} subscriptions, as many as it may`,
  );
}
