import { promisify } from "node:util";
import type { FastifyInstance } from "fastify";
import type { Metrics } from "../../model/metrics.js";

export interface ConnectionLimits {
  /** Of all kinds, WebSockets and silent ones too; undefined: as many as the system gives. */
  readonly maxConnections?: number;
}

/** Bounds the open connections: one too many is closed at once, unheard, since any answer would need room as well. */
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
