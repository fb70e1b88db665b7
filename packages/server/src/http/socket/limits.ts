import { ProtocolError } from "@gas-waiver/protocol";
import { PUBLISHABLE_SHARE } from "../../model/keys/caller.js";
import { SHARES_OF_SITE } from "../../model/options/networkAddress.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import type { Metrics } from "../../model/telemetry/metrics.js";
import { type Share, Tally } from "../../util/tally.js";

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
  readonly #open = new Tally();

  constructor(options: SocketLimitOptions, metrics: Pick<Metrics, "sockets">) {
    this.#options = options;
    this.#metrics = metrics;
  }

  hasRoom(owner: SocketOwner): boolean {
    return this.#open.full(this.#sharesOf(owner), 1) === undefined;
  }

  /** @throws {@link ProtocolError} `SOCKETS_AT_CAPACITY`. */
  assertRoom(owner: SocketOwner): void {
    const full = this.#open.full(this.#sharesOf(owner), 1);
    if (full === undefined) return;
    const [, capacity, name] = full;
    const message = `${name} has ${capacity} WebSockets open, as many as it may`;
    throw new ProtocolError("SOCKETS_AT_CAPACITY", message, { capacity });
  }

  /** Counts a new connection. @returns a function to call when the connection is closed. */
  enter(owner: SocketOwner): () => void {
    const shares = this.#sharesOf(owner);
    const add = (change: 1 | -1) => {
      this.#open.addTo(shares, change);
      this.#metrics.sockets(this.#open.of(ALL));
    };
    add(1);
    return () => add(-1);
  }

  #sharesOf({ keyId, address, site, isPublishable }: SocketOwner): Share[] {
    const { maxSockets, maxKeySockets, maxAddressConnections } = this.#options;
    const ofSite = SHARES_OF_SITE * maxAddressConnections;
    const ofPublishable = Math.ceil(maxSockets * PUBLISHABLE_SHARE);
    const publishable = (...share: Share): Share[] => (isPublishable ? [share] : []);
    return [
      [`key ${keyId}`, maxKeySockets, "this key"],
      ...publishable(`key ${keyId} ${address}`, MAX_ADDRESS_SOCKETS, "this address under this key"),
      [`address ${address}`, maxAddressConnections, "this address"],
      ...(site === undefined ? [] : [[`site ${site}`, ofSite, "this network of addresses"] as const]),
      ...publishable("publishable", ofPublishable, "the service for publishable keys"),
      [ALL, maxSockets, "the service"],
    ];
  }
}
