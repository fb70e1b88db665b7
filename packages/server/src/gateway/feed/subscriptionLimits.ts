import { type LimitedCaller, partyOf } from "../../model/keys/caller.js";
import { type Share, Tally } from "../../util/tally.js";
import { GatewayRefusal, RPC_CODES } from "../jsonRpc.js";

/** The subscriptions that one connection may have. */
export const MAX_SUBSCRIPTIONS = 100;
/** Those that one address under a publishable key may have over all of its connections. */
export const MAX_ADDRESS_SUBSCRIPTIONS = 400;
export const MAX_KEY_SUBSCRIPTIONS = 10_000;

/** Bounds the subscriptions of each connection, address and key: each new block is compared with all of them. */
export class SubscriptionLimits {
  readonly #open = new Tally();

  /**
   * Counts a further subscription.
   * @param open those that the connection has.
   * @returns a function to call at the subscription's end.
   * @throws {@link GatewayRefusal}
   */
  enter(caller: LimitedCaller, open: number): () => void {
    if (open >= MAX_SUBSCRIPTIONS) throw refusalOf(["", MAX_SUBSCRIPTIONS, "connection"]);
    const shares = sharesOf(caller);
    const full = this.#open.full(shares, 1);
    if (full !== undefined) throw refusalOf(full);
    this.#open.addTo(shares, 1);
    return () => this.#open.addTo(shares, -1);
  }
}

function sharesOf(caller: LimitedCaller): Share[] {
  const ofKey: Share = [caller.keyId, MAX_KEY_SUBSCRIPTIONS, "key"];
  if (caller.address === undefined) return [ofKey];
  return [[partyOf(caller), MAX_ADDRESS_SUBSCRIPTIONS, "address"], ofKey];
}

function refusalOf([, limit, owner]: Share): GatewayRefusal {
  return new GatewayRefusal(
    RPC_CODES.limitExceeded,
    `this ${owner} has ${limit} subscriptions, as many as it may`,
  );
}
