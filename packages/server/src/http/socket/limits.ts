import { ProtocolError } from "@gas-waiver/protocol";
import { SHARES_OF_SITE } from "../../model/options/networkAddress.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import type { Metrics } from "../../model/telemetry/metrics.js";
import { Tally } from "../../util/tally.js";
import { PUBLISHABLE_SHARE } from "../limits/bodyMemoryBudget.js";

export type SocketLimitOptions = Pick<
  ResolvedOptions,
  "maxSockets" | "maxKeySockets" | "maxAddressConnections"
>;

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

/** Bounds the open WebSockets, in all, for each key and for each client's address. */
export class SocketLimits {
  readonly #options: SocketLimitOptions;
  readonly #metrics: Pick<Metrics, "sockets">;
  readonly #ofKeys = new Tally();
  readonly #ofAddresses = new Tally();
  /** The WebSockets of each address under each publishable key. */
  readonly #ofKeyAddresses = new Tally();
  #open = 0;
  #publishable = 0;

  constructor(options: SocketLimitOptions, metrics: Pick<Metrics, "sockets">) {
    this.#options = options;
    this.#metrics = metrics;
  }

  hasRoom(owner: SocketOwner): boolean {
    return this.#fullLimit(owner) === undefined;
  }

  /** @throws {@link ProtocolError} `SOCKETS_AT_CAPACITY`. */
  assertRoom(owner: SocketOwner): void {
    const full = this.#fullLimit(owner);
    if (full === undefined) return;
    const message = `${full.owner} has ${full.limit} WebSockets open, as many as it may`;
    throw new ProtocolError("SOCKETS_AT_CAPACITY", message, { capacity: full.limit });
  }

  /** Counts a new connection. @returns a function to call when the connection is closed. */
  enter(owner: SocketOwner): () => void {
    this.#add(owner, 1);
    return () => this.#add(owner, -1);
  }

  #fullLimit({
    keyId,
    address,
    site,
    isPublishable,
  }: SocketOwner): { readonly owner: string; readonly limit: number } | undefined {
    const { maxSockets, maxKeySockets, maxAddressConnections } = this.#options;
    if (this.#ofKeys.of(keyId) >= maxKeySockets) return { owner: "this key", limit: maxKeySockets };
    if (isPublishable && this.#ofKeyAddresses.of(`${keyId} ${address}`) >= MAX_ADDRESS_SOCKETS) {
      return { owner: "this address under this key", limit: MAX_ADDRESS_SOCKETS };
    }
    if (this.#ofAddresses.of(address) >= maxAddressConnections) {
      return { owner: "this address", limit: maxAddressConnections };
    }
    const ofSite = SHARES_OF_SITE * maxAddressConnections;
    if (site !== undefined && this.#ofAddresses.of(site) >= ofSite) {
      return { owner: "this network of addresses", limit: ofSite };
    }
    const ofPublishable = Math.ceil(maxSockets * PUBLISHABLE_SHARE);
    if (isPublishable && this.#publishable >= ofPublishable) {
      return { owner: "the service for publishable keys", limit: ofPublishable };
    }
    if (this.#open >= maxSockets) return { owner: "the service", limit: maxSockets };
    return undefined;
  }

  #add({ keyId, address, site, isPublishable }: SocketOwner, count: 1 | -1): void {
    this.#open += count;
    this.#metrics.sockets(this.#open);
    this.#ofKeys.add(keyId, count);
    this.#ofAddresses.add(address, count);
    if (site !== undefined) this.#ofAddresses.add(site, count);
    if (!isPublishable) return;
    this.#publishable += count;
    this.#ofKeyAddresses.add(`${keyId} ${address}`, count);
  }
}
