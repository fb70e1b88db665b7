import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import type { FastifyInstance } from "fastify";
import type { Grant } from "../../keys/cachedKey.js";
import { DEFAULTS } from "../../model/options/defaults.js";
import { addressGroup, addressSite, SHARES_OF_SITE } from "../../model/options/networkAddress.js";
import type { ProcessMetrics } from "../../model/telemetry/processMetrics.js";
import { connectionAddress, trustedAddresses } from "../clientAddress.js";
import { tcpConnectionOf } from "../port/tls.js";
import { type Connection, ConnectionGroup } from "./connectionGroup.js";

/** The limits of connections of all kinds, WebSockets and idle ones included. Without a number there is no limit but the system's. */
export interface ConnectionLimits {
  readonly maxConnections?: number;
  /** Connections of one address, or of one IPv6 network. The proxies' own addresses have no such limit. */
  readonly maxAddressConnections?: number;
  readonly trustedProxies?: readonly string[];
  /** The time for a connection to show a valid key. */
  readonly keylessMs: number;
}

/**
 * The open connections. Those without a valid key are the first to be dropped, and live only for a time; those of publishable keys
 * (D32) come next. A connection whose key ended is closed.
 */
export interface OpenConnections {
  /**
   * Keeps a connection that has shown a valid key.
   * @param right of the key; without it, the connection is kept for good.
   */
  keep(socket: Duplex, right?: Pick<Grant, "caller" | "signal">): void;
  /** Treats a connection without a key as if it had just been opened. */
  renew(socket: Duplex): void;
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

/**
 * Bounds the open connections: in all, for each address, and for each IPv6 network of 48 bits. At a limit, a new connection replaces
 * one under the same limit: the oldest without a valid key, else one of a publishable key, of the address that has most of them and
 * an idle one if there is one. If all have shown secret keys, the new connection is closed without an answer, since an answer would
 * need room as well.
 */
export function limitConnections(
  app: FastifyInstance,
  limits: ConnectionLimits,
  metrics: Pick<ProcessMetrics, "dropped">,
): OpenConnections {
  const { server } = app;
  const table = new ConnectionTable(limits, () => metrics.dropped());
  server.on("connection", (socket: Socket) => table.admit(socket));
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = tcpConnectionOf(socket);
    table.use(connection, 1);
    response.once("close", () => table.use(connection, -1));
  });
  // A WebSocket is in use until it is closed.
  server.on("upgrade", ({ socket }: IncomingMessage) => table.use(tcpConnectionOf(socket), 1));
  const timer = setInterval(() => table.closeOld(), CHECK_MS).unref();
  app.addHook("onClose", async () => clearInterval(timer));
  return {
    keep: (socket, right) => table.keep(tcpConnectionOf(socket), right),
    renew: (socket) => table.renew(tcpConnectionOf(socket)),
  };
}

/** Counts the open connections of a server in the metrics. */
export function countConnections(
  { server }: FastifyInstance,
  metrics: Pick<ProcessMetrics, "countConnections">,
): void {
  const count = promisify(server.getConnections.bind(server));
  metrics.countConnections(() => (server.listening ? count() : Promise.resolve(0)));
}

class ConnectionTable {
  readonly #limits: Required<ConnectionLimits>;
  readonly #isProxy: (address: string) => boolean;
  readonly #onDrop: () => void;
  readonly #open = new Map<Duplex, Connection>();
  readonly #port: ConnectionGroup;
  readonly #addresses = new Map<string, ConnectionGroup>();
  readonly #sites = new Map<string, ConnectionGroup>();

  constructor(limits: ConnectionLimits, onDrop: () => void) {
    const none = Number.POSITIVE_INFINITY;
    this.#limits = { maxConnections: none, maxAddressConnections: none, trustedProxies: [], ...limits };
    this.#isProxy = trustedAddresses(this.#limits.trustedProxies);
    this.#onDrop = onDrop;
    this.#port = new ConnectionGroup("port", this.#limits.maxConnections);
  }

  admit(socket: Socket): void {
    // A declined upgrade starts its connection again.
    if (this.#open.has(socket)) return;
    const groups = this.#groupsOf(connectionAddress({ socket }));
    const connection = { socket, groups, openedAt: performance.now(), right: undefined, inFlight: 0 };
    this.#open.set(socket, connection);
    for (const group of groups) group.open++;
    socket.once("close", () => this.#forget(socket));
    if (groups.every((group) => this.#makeRoom(group))) this.#place(connection);
    else this.#drop(socket);
  }

  keep(socket: Duplex, right: Connection["right"] = "kept"): void {
    const connection = this.#open.get(socket);
    if (connection === undefined || connection.right === right) return;
    connection.right = right;
    this.#place(connection);
  }

  /** Counts a request that begins or ends. */
  use(socket: Duplex, change: 1 | -1): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.inFlight += change;
    if (typeof connection.right === "object") this.#place(connection);
  }

  renew(socket: Duplex): void {
    const connection = this.#open.get(socket);
    if (connection === undefined || connection.right !== undefined) return;
    connection.openedAt = performance.now();
    this.#place(connection);
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

  #groupsOf(address: string): ConnectionGroup[] {
    const { maxAddressConnections } = this.#limits;
    const limit = this.#isProxy(address) ? Number.POSITIVE_INFINITY : maxAddressConnections;
    const site = addressSite(address);
    return [
      groupIn(this.#addresses, addressGroup(address), limit),
      ...(site === undefined ? [] : [groupIn(this.#sites, site, SHARES_OF_SITE * limit)]),
      this.#port,
    ];
  }

  /** Drops a connection of a group that has too many. @returns false if none may be dropped. */
  #makeRoom(group: ConnectionGroup): boolean {
    if (group.open <= group.limit) return true;
    const isAnyAddress = group === this.#port && group.keyless.size === 0;
    const first = (isAnyAddress ? this.#largestAddress() : group)?.first();
    if (first === undefined) return false;
    this.#drop(first.socket);
    return true;
  }

  /** The address with the most connections of publishable keys; undefined if there are none. */
  #largestAddress(): ConnectionGroup | undefined {
    let largest: ConnectionGroup | undefined;
    for (const group of this.#addresses.values()) {
      if (group.publishable > (largest?.publishable ?? 0)) largest = group;
    }
    return largest;
  }

  #place(connection: Connection): void {
    for (const group of connection.groups) group.place(connection);
  }

  #drop(socket: Duplex): void {
    this.#onDrop();
    this.#forget(socket);
    socket.destroy();
  }

  #forget(socket: Duplex): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.#open.delete(socket);
    for (const group of connection.groups) {
      group.open--;
      group.remove(connection);
      if (group.open > 0) continue;
      for (const groups of [this.#addresses, this.#sites]) {
        if (groups.get(group.name) === group) groups.delete(group.name);
      }
    }
  }
}

function groupIn(groups: Map<string, ConnectionGroup>, name: string, limit: number): ConnectionGroup {
  const known = groups.get(name);
  if (known) return known;
  const group = new ConnectionGroup(name, limit);
  groups.set(name, group);
  return group;
}
