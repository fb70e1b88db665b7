import { type FastifyInstance, fastify } from "fastify";
import type { Metrics } from "../model/metrics.js";

/** Serves `GET /metrics` for Prometheus on a listener of its own, which customers do not reach. */
export function createMetricsApp({ registry }: Metrics): FastifyInstance {
  const app = fastify({ forceCloseConnections: true });
  app.get("/metrics", async (_request, reply) => {
    reply.type(registry.contentType);
    return registry.metrics();
  });
  return app;
}
