import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import type { FastifyInstance } from "fastify";
import type { Metrics } from "../../model/metrics.js";

export interface ConnectionLimits {
  /** Connections of all kinds, WebSockets and idle ones included. Undefined: no limit but the system's. */
  readonly maxConnections?: number;
  /** The time for the head of a request to arrive. */
  readonly headTimeoutMs: number;
}

/** The open connections. Those that showed no good API key yet make room first, and live short. */
export interface OpenConnections {
  /** Keeps a connection that showed a good API key. */
  keep(socket: Duplex): void;
}

/** A connection has this long to show a good key, beyond the time for a head, which has an answer of its own. */
export const KEYLESS_MS = 5_000;
const CHECK_MS = 1_000;

/**
 * Bounds the open connections. One too many takes the place of the oldest that showed no good API key. If all showed one,
 * it is closed without an answer, since an answer would need room as well.
 */
export function limitConnections(
  app: FastifyInstance,
  { maxConnections = Number.POSITIVE_INFINITY, headTimeoutMs }: ConnectionLimits,
  metrics: Pick<Metrics, "dropped" | "countConnections">,
): OpenConnections {
  const { server } = app;
  const open = new Set<Duplex>();
  /** The connections without a good key, by their age, with the time when they came. */
  const strangers = new Map<Duplex, number>();
  server.on("connection", (socket: Duplex) => {
    // A declined upgrade starts its connection again.
    if (open.has(socket)) return;
    if (open.size >= maxConnections) {
      const [oldest] = strangers.keys();
      metrics.dropped();
      (oldest ?? socket).destroy();
      if (oldest === undefined) return;
      forget(oldest);
    }
    open.add(socket);
    strangers.set(socket, performance.now());
    socket.once("close", () => forget(socket));
  });
  const forget = (socket: Duplex) => {
    open.delete(socket);
    strangers.delete(socket);
  };
  const closeOld = () => {
    const before = performance.now() - headTimeoutMs - KEYLESS_MS;
    for (const [socket, since] of strangers) {
      if (since > before) return;
      socket.destroy();
    }
  };
  const timer = setInterval(closeOld, CHECK_MS).unref();
  app.addHook("onClose", async () => clearInterval(timer));
  const count = promisify(server.getConnections.bind(server));
  metrics.countConnections(() => (server.listening ? count() : Promise.resolve(0)));
  return { keep: (socket) => void strangers.delete(socket) };
}
