import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import type { FastifyInstance } from "fastify";
import { DEFAULTS } from "../../model/options/defaults.js";
import { addressGroup } from "../../model/options/networkAddress.js";
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

/** The open connections. Those that have shown no valid key are the first to be dropped, and live only for a time. */
export interface OpenConnections {
  /** Keeps a connection that has shown a valid key. */
  keep(socket: Duplex): void;
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
 * Bounds the open connections, in all and for each address. At a limit, a new connection replaces the oldest one under the
 * same limit that has shown no valid key. If all have shown one, the new connection is closed without an answer, since an
 * answer would need room as well.
 */
export function limitConnections(
  app: FastifyInstance,
  limits: ConnectionLimits,
  metrics: Pick<ProcessMetrics, "dropped">,
): OpenConnections {
  const { server } = app;
  const table = new ConnectionTable(limits, () => metrics.dropped());
  server.on("connection", (socket: Socket) => table.admit(socket));
  const timer = setInterval(() => table.closeOld(), CHECK_MS).unref();
  app.addHook("onClose", async () => clearInterval(timer));
  return {
    keep: (socket) => table.keep(tcpConnectionOf(socket)),
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

/** The connections of one address. */
interface AddressShare {
  readonly address: string;
  open: number;
  /** Those that have shown no valid key, the oldest first. */
  readonly withoutKey: Set<Duplex>;
}

class ConnectionTable {
  readonly #limits: Required<ConnectionLimits>;
  readonly #isProxy: (address: string) => boolean;
  readonly #onDrop: () => void;
  /** The open connections with the shares that they count in; those of proxies count in none. */
  readonly #open = new Map<Duplex, AddressShare | undefined>();
  readonly #shares = new Map<string, AddressShare>();
  /** The connections that have shown no valid key, with the time in ms at which each was opened or renewed, the oldest first. */
  readonly #openedAtWithoutKey = new Map<Duplex, number>();

  constructor(limits: ConnectionLimits, onDrop: () => void) {
    const none = Number.POSITIVE_INFINITY;
    this.#limits = { maxConnections: none, maxAddressConnections: none, trustedProxies: [], ...limits };
    this.#isProxy = trustedAddresses(this.#limits.trustedProxies);
    this.#onDrop = onDrop;
  }

  admit(socket: Socket): void {
    // A declined upgrade starts its connection again.
    if (this.#open.has(socket)) return;
    const share = this.#shareOf(connectionAddress({ socket }));
    if (!this.#makeRoom(share)) {
      this.#drop(socket);
      return;
    }
    this.#add(socket, share);
    socket.once("close", () => this.#forget(socket));
  }

  /** Makes room for a connection in its share and in all. @returns false if there is none. */
  #makeRoom(share: AddressShare | undefined): boolean {
    const { maxConnections, maxAddressConnections } = this.#limits;
    const isShareFull = share !== undefined && share.open >= maxAddressConnections;
    if (isShareFull && !this.#dropFirst(share.withoutKey)) return false;
    return this.#open.size < maxConnections || this.#dropFirst(this.#openedAtWithoutKey.keys());
  }

  keep(connection: Duplex): void {
    this.#openedAtWithoutKey.delete(connection);
    this.#open.get(connection)?.withoutKey.delete(connection);
  }

  renew(connection: Duplex): void {
    if (!this.#openedAtWithoutKey.delete(connection)) return;
    this.#openedAtWithoutKey.set(connection, performance.now());
    const withoutKey = this.#open.get(connection)?.withoutKey;
    if (withoutKey?.delete(connection)) withoutKey.add(connection);
  }

  /** Closes the connections that have had their time to show a valid key. */
  closeOld(): void {
    const latestToClose = performance.now() - this.#limits.keylessMs;
    for (const [socket, openedAt] of this.#openedAtWithoutKey) {
      if (openedAt > latestToClose) return;
      socket.destroy();
    }
  }

  #shareOf(address: string): AddressShare | undefined {
    if (this.#isProxy(address)) return undefined;
    const group = addressGroup(address);
    return this.#shares.get(group) ?? { address: group, open: 0, withoutKey: new Set() };
  }

  #add(socket: Duplex, share: AddressShare | undefined): void {
    this.#open.set(socket, share);
    this.#openedAtWithoutKey.set(socket, performance.now());
    if (share === undefined) return;
    share.open++;
    share.withoutKey.add(socket);
    this.#shares.set(share.address, share);
  }

  /** Drops the first of these connections. @returns false if there is none. */
  #dropFirst(connections: Iterable<Duplex>): boolean {
    const [first] = connections;
    if (first === undefined) return false;
    this.#drop(first);
    return true;
  }

  #drop(socket: Duplex): void {
    this.#onDrop();
    this.#forget(socket);
    socket.destroy();
  }

  #forget(socket: Duplex): void {
    const share = this.#open.get(socket);
    const wasOpen = this.#open.delete(socket);
    this.#openedAtWithoutKey.delete(socket);
    if (share === undefined || !wasOpen) return;
    share.open--;
    share.withoutKey.delete(socket);
    if (share.open === 0) this.#shares.delete(share.address);
  }
}
