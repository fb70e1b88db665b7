import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Grant } from "../../keys/cachedKey.js";
import type { Caller } from "../../model/keys/caller.js";
import { DEFAULTS } from "../../model/options/defaults.js";
import { addressGroup, addressSite, SHARES_OF_SITE } from "../../model/options/networkAddress.js";
import type { ProcessMetrics } from "../../model/telemetry/processMetrics.js";
import { connectionAddress, trustedAddresses } from "../clientAddress.js";
import { tcpConnectionOf } from "../port/tls.js";

/** The limits of connections of all kinds, WebSockets and idle ones included. Without a number there is no limit but the system's. */
export interface ConnectionLimits {
  readonly maxConnections?: number;
  /** Connections of one address, or of one IPv6 network. The proxies' own addresses have no such limit. */
  readonly maxAddressConnections?: number;
  readonly trustedProxies?: readonly string[];
  /** The time for a connection to show a valid key. */
  readonly keylessMs: number;
}

/** A connection has `headTimeoutMs` and this time to show a valid key. A head that is too slow gets an answer before. */
export const KEYLESS_MS = 5_000;
/** Returns the limits of the public port. */
export function connectionLimits(
  options: Omit<ConnectionLimits, "keylessMs"> & { readonly headTimeoutMs: number },
): ConnectionLimits {
  return { ...options, keylessMs: options.headTimeoutMs + KEYLESS_MS };
}

/** The limits of the ports of operators: of the metrics, and of the admin API. */
export const OPERATORS_CONNECTIONS = {
  maxConnections: 256,
  maxAddressConnections: 64,
  keylessMs: DEFAULTS.headTimeoutMs + KEYLESS_MS,
};
const CHECK_MS = 1_000;

/** Bounds the open connections of a server, as {@link OpenConnections} does. When the app closes, so do those without any request. */
export function limitConnections(
  app: FastifyInstance,
  limits: ConnectionLimits,
  metrics: Pick<ProcessMetrics, "dropped">,
): OpenConnections {
  const { server } = app;
  const table = new OpenConnections(limits, () => metrics.dropped());
  server.on("connection", (socket: Socket) => table.admit(socket));
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = tcpConnectionOf(socket);
    table.use(connection, 1);
    response.once("close", () => table.use(connection, -1));
  });
  // A WebSocket is in use until it is closed.
  server.on("upgrade", ({ socket }: IncomingMessage) => table.use(tcpConnectionOf(socket), 1));
  const timer = setInterval(() => table.closeOld(), CHECK_MS).unref();
  app.addHook("preClose", async () => table.closeUnused());
  app.addHook("onClose", async () => clearInterval(timer));
  return table;
}

/** The right that a valid key gives. */
type Right = Pick<Grant, "caller" | "signal">;

interface Connection {
  readonly socket: Duplex;
  /** The connections that share its limits, the narrowest group first: of its address, of its site, of the port. */
  readonly groups: readonly Group[];
  /** In ms, when it was opened or renewed. */
  openedAt: number;
  /** By the latest valid key. "kept" has no end. */
  right: Right | "kept" | undefined;
  /** The connections of its secret key, if it has shown one. */
  key: Group | undefined;
  /** Its requests in flight. A WebSocket is one. */
  inFlight: number;
  isUsed: boolean;
}

/** The order in which connections leave for new ones: without a valid key, of publishable keys (D32). Those that are kept stay within their address. */
const ORDER = ["keyless", "idle", "busy", "kept"] as const;

function rankOf({ right, inFlight }: Connection): (typeof ORDER)[number] {
  if (right === "kept") return "kept";
  if (right === undefined || right.signal.aborted) return "keyless";
  if (right.caller.publishable === undefined) return "kept";
  return inFlight > 0 ? "busy" : "idle";
}

/** Connections under one limit. */
class Group {
  readonly name: string;
  readonly limit: number;
  /** The oldest, or the longest idle, first. */
  readonly keyless = new Set<Connection>();
  readonly idle = new Set<Connection>();
  readonly busy = new Set<Connection>();
  readonly kept = new Set<Connection>();

  constructor(name: string, limit: number) {
    this.name = name;
    this.limit = limit;
  }

  get size(): number {
    return ORDER.reduce((sum, rank) => sum + this[rank].size, 0);
  }

  /** The number of connections of publishable keys. */
  get publishable(): number {
    return this.idle.size + this.busy.size;
  }

  /** The next to leave; undefined if all stay. */
  get first(): Connection | undefined {
    const [first] = [this.keyless, this.idle, this.busy].find(({ size }) => size > 0) ?? [];
    return first;
  }

  remove(connection: Connection): void {
    for (const rank of ORDER) if (this[rank].delete(connection)) return;
  }
}

const NO_GROUP = new Group("none", 0);

/** The share of a full port that one secret key may have in use. */
const MOST_OF_KEY = 0.5;

/**
 * The open connections of a port, bounded in all, for each address, and for each IPv6 network of 48 bits. At a limit, a new one takes
 * the place of the first to leave under the same limit; on a full port, that is a keyless one, or one of the address or network with
 * most of publishable keys, or else an idle one of the secret key with the most, so that no key shuts the others out. If none leaves,
 * the new connection is closed without an answer, since an answer would need room as well.
 */
export class OpenConnections {
  readonly #limits: Required<ConnectionLimits>;
  readonly #isProxy: (address: string) => boolean;
  readonly #onDrop: () => void;
  readonly #open = new Map<Duplex, Connection>();
  readonly #port: Group;
  /** The addresses and sites, by their names. */
  readonly #groups = new Map<string, Group>();
  /** The connections of secret keys, by the ids of the keys. */
  readonly #keys = new Map<string, Group>();
  #isClosing = false;

  constructor(limits: ConnectionLimits, onDrop: () => void) {
    const none = Number.POSITIVE_INFINITY;
    this.#limits = { maxConnections: none, maxAddressConnections: none, trustedProxies: [], ...limits };
    this.#isProxy = trustedAddresses(this.#limits.trustedProxies);
    this.#onDrop = onDrop;
    this.#port = new Group("port", this.#limits.maxConnections);
  }

  get size(): number {
    return this.#open.size;
  }

  admit(socket: Socket): void {
    // A declined upgrade starts its connection again.
    if (this.#open.has(socket)) return;
    const groups = this.#groupsOf(connectionAddress({ socket }));
    if (this.#isClosing || !groups.every((group) => this.#makeRoom(group))) {
      if (!this.#isClosing) this.#onDrop();
      socket.destroy();
      return;
    }
    const state = {
      openedAt: performance.now(),
      right: undefined,
      key: undefined,
      inFlight: 0,
      isUsed: false,
    };
    const connection = { socket, groups, ...state };
    this.#open.set(socket, connection);
    socket.once("close", () => this.#forget(connection));
    for (const group of groups) this.#groups.set(group.name, group);
    this.#place(connection);
  }

  /**
   * Keeps a connection that has shown a valid key.
   * @param right of the key; without it, the connection is kept for good.
   */
  keep(socket: Duplex, right: Right | "kept" = "kept"): void {
    const connection = this.#open.get(tcpConnectionOf(socket));
    if (connection === undefined || connection.right === right) return;
    this.#leaveKey(connection);
    connection.right = right;
    if (right !== "kept" && right.caller.publishable === undefined) this.#enterKey(connection, right.caller);
    this.#place(connection);
  }

  /** Treats a connection without a key as if it had just been opened. */
  renew(socket: Duplex): void {
    const connection = this.#open.get(tcpConnectionOf(socket));
    if (connection === undefined || connection.right !== undefined) return;
    connection.openedAt = performance.now();
    this.#place(connection);
  }

  /** Counts a request that begins or ends. */
  use(socket: Duplex, change: 1 | -1): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.isUsed = true;
    connection.inFlight += change;
    if (typeof connection.right === "object") this.#place(connection);
  }

  /** Closes the connections that have had their time to show a valid key, and those whose key ended while nothing is asked. */
  closeOld(): void {
    const latestToClose = performance.now() - this.#limits.keylessMs;
    for (const { socket, openedAt } of this.#port.keyless) {
      if (openedAt > latestToClose) break;
      socket.destroy();
    }
    for (const { socket, right, inFlight } of this.#open.values()) {
      if (typeof right === "object" && right.signal.aborted && inFlight === 0) socket.destroy();
    }
  }

  /** Closes the connections without any request, now and from now on. Clients open some in advance, and Node would wait for them. */
  closeUnused(): void {
    this.#isClosing = true;
    for (const { socket, isUsed } of this.#open.values()) if (!isUsed) socket.destroy();
  }

  #groupsOf(address: string): Group[] {
    const { maxAddressConnections } = this.#limits;
    const limit = this.#isProxy(address) ? Number.POSITIVE_INFINITY : maxAddressConnections;
    const site = addressSite(address);
    const groupOf = (name: string, most: number) => this.#groups.get(name) ?? new Group(name, most);
    return [
      groupOf(addressGroup(address), limit),
      ...(site === undefined ? [] : [groupOf(site, SHARES_OF_SITE * limit)]),
      this.#port,
    ];
  }

  /** Drops a connection of a group that is full. @returns false if none may be dropped. */
  #makeRoom(group: Group): boolean {
    if (group.size < group.limit) return true;
    const isOfAny = group === this.#port && group.keyless.size === 0;
    const first = isOfAny ? (this.#largestGroup().first ?? this.#firstOfSecretKeys()) : group.first;
    if (first === undefined) return false;
    this.#onDrop();
    this.#forget(first);
    first.socket.destroy();
    return true;
  }

  /** The address or site with the most connections of publishable keys. */
  #largestGroup(): Group {
    let largest = NO_GROUP;
    for (const group of this.#groups.values()) {
      if (group !== this.#port && group.publishable > largest.publishable) largest = group;
    }
    return largest;
  }

  /** An idle connection of the secret key with the most; one in use only where the key has more than its share. */
  #firstOfSecretKeys(): Connection | undefined {
    let largest = NO_GROUP;
    for (const key of this.#keys.values()) if (key.size > largest.size) largest = key;
    const isBeyondShare = largest.size > this.#port.limit * MOST_OF_KEY;
    return largest.idle.size > 0 || isBeyondShare ? largest.first : undefined;
  }

  /** Puts a connection behind the others of its rank. */
  #place(connection: Connection): void {
    const rank = rankOf(connection);
    for (const group of connection.groups) {
      group.remove(connection);
      group[rank].add(connection);
    }
    const { key, inFlight } = connection;
    key?.remove(connection);
    key?.[inFlight > 0 ? "busy" : "idle"].add(connection);
  }

  #enterKey(connection: Connection, { keyId }: Pick<Caller, "keyId">): void {
    const key = this.#keys.get(keyId) ?? new Group(keyId, this.#port.limit);
    this.#keys.set(keyId, key);
    connection.key = key;
  }

  #leaveKey(connection: Connection): void {
    const { key } = connection;
    key?.remove(connection);
    if (key?.size === 0) this.#keys.delete(key.name);
    connection.key = undefined;
  }

  #forget(connection: Connection): void {
    if (!this.#open.delete(connection.socket)) return;
    this.#leaveKey(connection);
    for (const group of connection.groups) {
      group.remove(connection);
      if (group.size === 0) this.#groups.delete(group.name);
    }
  }
}
