import { promisify } from "node:util";
import type { FastifyInstance } from "fastify";
import type { Metrics } from "../../model/metrics.js";

export interface ConnectionLimits {
  /** Connections of all kinds, WebSockets and idle ones included. Undefined: no limit but the system's. */
  readonly maxConnections?: number;
}

/** Bounds the open connections. One too many is closed without an answer, since an answer would need room as well. */
export function limitConnections(
  { server }: FastifyInstance,
  { maxConnections }: ConnectionLimits,
  metrics: Pick<Metrics, "dropped" | "countConnections">,
): void {
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  server.on("drop", () => metrics.dropped());
  const count = promisify(server.getConnections.bind(server));
  metrics.countConnections(() => (server.listening ? count() : Promise.resolve(0)));
}
