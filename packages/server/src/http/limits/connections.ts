import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import type { FastifyInstance } from "fastify";
import type { Metrics } from "../../model/metrics.js";
import { tcpConnectionOf } from "../tls.js";

export interface ConnectionLimits {
  /** Connections of all kinds, WebSockets and idle ones included. Undefined: no limit but the system's. */
  readonly maxConnections?: number;
  /** The time for the head of a request to arrive. */
  readonly headTimeoutMs: number;
}

/** The open connections. Those that have shown no valid API key are the first to be dropped, and live only some seconds. */
export interface OpenConnections {
  /** Keeps a connection that has shown a valid API key. */
  keep(socket: Duplex): void;
}

/** A connection has `headTimeoutMs` and this time to show a valid key. A head that is too slow gets an answer before. */
export const KEYLESS_MS = 5_000;
const CHECK_MS = 1_000;

/**
 * Bounds the open connections. At the limit, a new connection replaces the oldest one that has shown no valid API key. If
 * all have shown one, the new connection is closed without an answer, since an answer would need room as well.
 */
export function limitConnections(
  app: FastifyInstance,
  { maxConnections = Number.POSITIVE_INFINITY, headTimeoutMs }: ConnectionLimits,
  metrics: Pick<Metrics, "dropped" | "countConnections">,
): OpenConnections {
  const { server } = app;
  const open = new Set<Duplex>();
  /** The connections that have shown no valid key, with the time in ms at which each was opened, the oldest first. */
  const openedAtWithoutKey = new Map<Duplex, number>();
  server.on("connection", (socket: Duplex) => {
    // A declined upgrade starts its connection again.
    if (open.has(socket)) return;
    if (open.size >= maxConnections) {
      const [oldest] = openedAtWithoutKey.keys();
      metrics.dropped();
      (oldest ?? socket).destroy();
      if (oldest === undefined) return;
      forget(oldest);
    }
    open.add(socket);
    openedAtWithoutKey.set(socket, performance.now());
    socket.once("close", () => forget(socket));
  });
  const forget = (socket: Duplex) => {
    open.delete(socket);
    openedAtWithoutKey.delete(socket);
  };
  const closeOld = () => {
    const latestToClose = performance.now() - headTimeoutMs - KEYLESS_MS;
    for (const [socket, openedAt] of openedAtWithoutKey) {
      if (openedAt > latestToClose) return;
      socket.destroy();
    }
  };
  const timer = setInterval(closeOld, CHECK_MS).unref();
  app.addHook("onClose", async () => clearInterval(timer));
  const count = promisify(server.getConnections.bind(server));
  metrics.countConnections(() => (server.listening ? count() : Promise.resolve(0)));
  return { keep: (socket) => void openedAtWithoutKey.delete(tcpConnectionOf(socket)) };
}
