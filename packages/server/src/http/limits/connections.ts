import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Grant } from "../../keys/cachedKey.js";
import { addressGroup, addressSite, SHARES_OF_SITE } from "../../model/options/networkAddress.js";
import { DEFAULTS } from "../../model/options/options.js";
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
  /** The connections that share its limits, the narrowest group first: of its address, of its site, of the port. Then those of its secret key. */
  groups: readonly Group[];
  /** In ms, when it was opened or renewed. */
  openedAt: number;
  /** By the latest valid key. "kept" has no end. */
  right: Right | "kept" | undefined;
  /** Its requests in flight. A WebSocket is one. */
  inFlight: number;
  isUsed: boolean;
}

/**
 * The order in which connections leave for new ones: without a valid key, of publishable keys (D32), of secret keys, idle ones before
 * those in use. Those that are kept stay, and those of secret keys stay within their address.
 */
const [KEYLESS, IDLE, BUSY, IDLE_SECRET, BUSY_SECRET, KEPT] = [0, 1, 2, 3, 4, 5];

function rankOf({ right, inFlight }: Connection): number {
  if (right === "kept") return KEPT;
  if (right === undefined || right.signal.aborted) return KEYLESS;
  const idle = right.caller.publishable === undefined ? IDLE_SECRET : IDLE;
  return inFlight > 0 ? idle + 1 : idle;
}

/** Connections under one limit, or of one secret key. */
class Group {
  readonly kind: "port" | "place" | "key";
  readonly name: string;
  readonly limit: number;
  /** By their ranks: the oldest, or the longest idle, first. */
  readonly #ranks = Array.from({ length: KEPT + 1 }, () => new Set<Connection>());

  constructor(kind: Group["kind"], name: string, limit = Number.POSITIVE_INFINITY) {
    this.kind = kind;
    this.name = name;
    this.limit = limit;
  }

  /** The connections of some ranks. */
  count(from = KEYLESS, to = KEPT): number {
    return this.#ranks.slice(from, to + 1).reduce((sum, { size }) => sum + size, 0);
  }

  /** The first to leave of some ranks. */
  first(from: number, to: number): Connection | undefined {
    for (const rank of this.#ranks.slice(from, to + 1)) for (const connection of rank) return connection;
    return undefined;
  }

  /** The connections of a rank, in their order. */
  of(rank: number): Iterable<Connection> {
    return this.#ranks[rank] ?? [];
  }

  /** Puts a connection behind the others of its rank. */
  place(connection: Connection): void {
    this.remove(connection);
    this.#ranks[rankOf(connection)]?.add(connection);
  }

  remove(connection: Connection): void {
    for (const rank of this.#ranks) rank.delete(connection);
  }
}

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
  /** The addresses, sites and secret keys, by their names. */
  readonly #groups = new Map<string, Group>();
  #isClosing = false;

  constructor(limits: ConnectionLimits, onDrop: () => void) {
    const none = Number.POSITIVE_INFINITY;
    this.#limits = { maxConnections: none, maxAddressConnections: none, trustedProxies: [], ...limits };
    this.#isProxy = trustedAddresses(this.#limits.trustedProxies);
    this.#onDrop = onDrop;
    this.#port = new Group("port", "port", this.#limits.maxConnections);
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
    const state = { openedAt: performance.now(), right: undefined, inFlight: 0, isUsed: false };
    const connection = { socket, groups, ...state };
    this.#open.set(socket, connection);
    socket.once("close", () => this.#forget(connection));
    this.#place(connection);
  }

  /**
   * Keeps a connection that has shown a valid key.
   * @param right of the key; without it, the connection is kept for good.
   */
  keep(socket: Duplex, right: Right | "kept" = "kept"): void {
    const connection = this.#open.get(tcpConnectionOf(socket));
    if (connection === undefined || connection.right === right) return;
    this.#leaveGroups(connection);
    connection.right = right;
    const isSecret = right !== "kept" && right.caller.publishable === undefined;
    const keys = isSecret ? [this.#groupOf("key", `key ${right.caller.keyId}`)] : [];
    connection.groups = [...connection.groups.filter(({ kind }) => kind !== "key"), ...keys];
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
    for (const { socket, openedAt } of this.#port.of(KEYLESS)) {
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
    const ofSite = site === undefined ? [] : [this.#groupOf("place", site, SHARES_OF_SITE * limit)];
    return [this.#groupOf("place", addressGroup(address), limit), ...ofSite, this.#port];
  }

  #groupOf(...group: ConstructorParameters<typeof Group>): Group {
    return this.#groups.get(group[1]) ?? new Group(...group);
  }

  /** Drops a connection of a group that is full. @returns false if none may be dropped. */
  #makeRoom(group: Group): boolean {
    if (group.count() < group.limit) return true;
    const first = group === this.#port ? this.#firstOfPort() : group.first(KEYLESS, BUSY);
    if (first === undefined) return false;
    this.#onDrop();
    this.#forget(first);
    first.socket.destroy();
    return true;
  }

  /**
   * A connection without a key, or else one of the address or site with the most connections of publishable keys, or else an idle one of
   * the secret key with the most; one in use only where the key has more than its share.
   */
  #firstOfPort(): Connection | undefined {
    const first = this.#port.first(KEYLESS, KEYLESS) ?? this.#largest("place", IDLE, BUSY)?.first(IDLE, BUSY);
    if (first !== undefined) return first;
    const key = this.#largest("key", IDLE_SECRET, BUSY_SECRET);
    const isBeyondShare = key !== undefined && key.count() > this.#port.limit * MOST_OF_KEY;
    return key?.first(IDLE_SECRET, isBeyondShare ? BUSY_SECRET : IDLE_SECRET);
  }

  #largest(kind: Group["kind"], from: number, to: number): Group | undefined {
    let [largest, most]: [Group | undefined, number] = [undefined, 0];
    for (const group of this.#groups.values()) {
      const count = group.kind === kind ? group.count(from, to) : 0;
      if (count > most) [largest, most] = [group, count];
    }
    return largest;
  }

  /** Puts a connection behind the others of its rank. */
  #place(connection: Connection): void {
    for (const group of connection.groups) {
      this.#groups.set(group.name, group);
      group.place(connection);
    }
  }

  #leaveGroups(connection: Connection): void {
    for (const group of connection.groups) {
      group.remove(connection);
      if (group.count() === 0) this.#groups.delete(group.name);
    }
  }

  #forget(connection: Connection): void {
    if (this.#open.delete(connection.socket)) this.#leaveGroups(connection);
  }
}
