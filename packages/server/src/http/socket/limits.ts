import { ProtocolError } from "@gas-waiver/protocol";
import { PUBLISHABLE_SHARE } from "../../model/keys/caller.js";
import { SHARES_OF_SITE } from "../../model/options/networkAddress.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import type { Metrics } from "../../model/telemetry/metrics.js";
import { type RoomOwner, SharedRoom } from "../../util/sharedRoom.js";
import type { Share } from "../../util/tally.js";

type SocketLimitOptions = Pick<ResolvedOptions, "maxSockets" | "maxKeySockets" | "maxAddressConnections">;

/** The owner of a WebSocket. */
export interface SocketOwner {
  readonly keyId: string;
  /** The group of addresses that its client has. */
  readonly address: string;
  /** Its IPv6 network of 48 bits. */
  readonly site: string | undefined;
  /** Whether the key is publishable (D32), so that one address must leave room to others. */
  readonly isPublishable: boolean;
}

/** The most open WebSockets of one address under a publishable key. */
export const MAX_ADDRESS_SOCKETS = 100;

const ALL = "all";

/** Bounds the open WebSockets, in all, for each key and for each client's address. */
export class SocketLimits {
  readonly #options: SocketLimitOptions;
  readonly #metrics: Pick<Metrics, "sockets">;
  readonly #open = new SharedRoom();

  constructor(options: SocketLimitOptions, metrics: Pick<Metrics, "sockets">) {
    this.#options = options;
    this.#metrics = metrics;
  }

  /**
   * Counts a new connection.
   * @param close ends the connection, where another party has few and needs the place: of its party's, an idle one first.
   * @returns a function to call when the connection is closed.
   * @throws {@link ProtocolError} `SOCKETS_AT_CAPACITY`.
   */
  enter(owner: SocketOwner, close: () => void, isIdle: () => boolean): () => void {
    const place = this.#open.open(this.#roomOwnerOf(owner), close, isIdle);
    const full = this.#open.grow(place, 1);
    const leave = () => {
      this.#open.release(place);
      this.#metrics.sockets(this.#open.heldOf(ALL));
    };
    if (full !== undefined) {
      leave();
      const [, capacity, name] = full;
      const message = `${name} has ${capacity} WebSockets open, as many as it may`;
      throw new ProtocolError("SOCKETS_AT_CAPACITY", message, { capacity });
    }
    this.#metrics.sockets(this.#open.heldOf(ALL));
    return leave;
  }

  #roomOwnerOf({ keyId, address, site, isPublishable }: SocketOwner): RoomOwner {
    const { maxSockets, maxKeySockets, maxAddressConnections } = this.#options;
    const ofSite = SHARES_OF_SITE * maxAddressConnections;
    const ofPublishable = Math.ceil(maxSockets * PUBLISHABLE_SHARE);
    const publishable = (...share: Share): Share[] => (isPublishable ? [share] : []);
    const ofKey = `key ${keyId}`;
    const party = isPublishable ? `${ofKey} ${address}` : ofKey;
    const shares: Share[] = [
      ...publishable(party, MAX_ADDRESS_SOCKETS, "this address under this key"),
      [ofKey, maxKeySockets, "this key"],
      [`address ${address}`, maxAddressConnections, "this address"],
      ...(site === undefined ? [] : [[`site ${site}`, ofSite, "this network of addresses"] as const]),
      ...publishable("publishable", ofPublishable, "the service for publishable keys"),
      [ALL, maxSockets, "the service"],
    ];
    return { party, shares };
  }
}
