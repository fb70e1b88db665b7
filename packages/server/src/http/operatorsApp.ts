import { type FastifyInstance, fastify } from "fastify";
import type { ReadinessProbe } from "../health/readiness.js";
import type { Metrics } from "../model/metrics.js";
import type { TlsCertificate } from "../model/tlsCertificate.js";
import { serveHealth } from "./routes/health.js";
import { serveReady } from "./routes/ready.js";
import type { RouteServices } from "./routes/routeHandler.js";
import { serverOptions } from "./tls.js";

export interface OperatorsAppServices extends Pick<RouteServices, "health"> {
  readonly metrics: Pick<Metrics, "registry">;
  readonly readiness: ReadinessProbe;
  readonly tls?: TlsCertificate | undefined;
}

/**
 * Serves `GET /metrics` for Prometheus, and the probes `GET /livez` and `GET /readyz`, on a listener of its own, which
 * customers do not reach, and so without an API key (D24). The probes have the bodies of `/v1/health` and `/v1/ready`.
 */
export function createOperatorsApp({
  metrics,
  health,
  readiness,
  tls,
}: OperatorsAppServices): FastifyInstance {
  const app = fastify({ forceCloseConnections: true, ...serverOptions({}, tls) });
  app.get("/livez", serveHealth({ health }).handler);
  app.get("/readyz", serveReady({ readiness }).handler);
  app.get("/metrics", async (_request, reply) => {
    reply.type(metrics.registry.contentType);
    return metrics.registry.metrics();
  });
  return app;
}
