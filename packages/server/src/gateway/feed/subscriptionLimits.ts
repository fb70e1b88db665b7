import { type LimitedCaller, partyOf } from "../../model/keys/caller.js";
import { Tally } from "../../util/tally.js";
import { GatewayRefusal, RPC_CODES } from "../jsonRpc.js";

/** The subscriptions that one connection may have. */
const MAX_OF_CONNECTION = 100;
/** Those that one address under a publishable key may have over all of its connections. */
export const MAX_OF_ADDRESS = 400;
const MAX_OF_KEY = 10_000;

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
    if (open >= MAX_OF_CONNECTION) throw full("connection", MAX_OF_CONNECTION);
    if (address !== undefined && this.#ofAddresses.of(partyOf(caller)) >= MAX_OF_ADDRESS) {
      throw full("address", MAX_OF_ADDRESS);
    }
    if (this.#ofKeys.of(keyId) >= MAX_OF_KEY) throw full("key", MAX_OF_KEY);
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
