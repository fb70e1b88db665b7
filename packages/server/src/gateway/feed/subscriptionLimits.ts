import { type LimitedCaller, partyOf } from "../../model/keys/caller.js";
import { SharedRoom } from "../../util/sharedRoom.js";
import type { Share } from "../../util/tally.js";
import { GatewayRefusal, RPC_CODES } from "../jsonRpc.js";

/** The subscriptions that one connection may have. */
export const MAX_SUBSCRIPTIONS = 100;
/** Those that one address under a publishable key may have over all of its connections. */
export const MAX_ADDRESS_SUBSCRIPTIONS = 400;
export const MAX_KEY_SUBSCRIPTIONS = 10_000;

/** Bounds the subscriptions of each connection, address and key: each new block is compared with all of them. */
export class SubscriptionLimits {
  readonly #open = new SharedRoom();

  /**
   * Opens the count of a connection.
   * @param close ends the connection, where another address under the key has few subscriptions and needs the room.
   */
  open(caller: LimitedCaller, close: () => void) {
    const held = this.#open.open({ party: partyOf(caller), shares: sharesOf(caller) }, close);
    return {
      /** Counts a further subscription. @returns a function to call at its end. @throws {@link GatewayRefusal} */
      enter: () => {
        if (held.amount >= MAX_SUBSCRIPTIONS) throw refusalOf(["", MAX_SUBSCRIPTIONS, "connection"]);
        const full = this.#open.grow(held, 1);
        if (full !== undefined) throw refusalOf(full);
        return () => void this.#open.grow(held, -1);
      },
      end: () => this.#open.release(held),
    };
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
