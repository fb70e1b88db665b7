import type { FastifyInstance } from "fastify";
import type { ReadinessProbe } from "../health/readiness.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import type { Metrics } from "../model/telemetry/metrics.js";
import { createBaseApp } from "./base.js";
import { serveHealth, serveReplicaReady } from "./routes/ready.js";
import type { RouteServices } from "./routes/routeHandler.js";

export interface OperatorsAppServices extends Pick<RouteServices, "health"> {
  readonly metrics: Pick<Metrics, "registry">;
  readonly log: Logger;
  readonly readiness: ReadinessProbe;
  readonly options: Pick<ResolvedOptions, "allowedHosts">;
}

export const OPERATORS_ROUTES = ["/livez", "/readyz", "/metrics"].map((path) => ({ method: "GET", path }));
/** Nobody sends a body to these routes. */
const MAX_BODY_BYTES = 1_024;
/** A connection that asks for nothing for this long is closed. Scrapes are a minute apart at most. */
export const IDLE_SCRAPER_MS = 75_000;

/**
 * Serves `GET /metrics` for Prometheus, and the probes `GET /livez` and `GET /readyz`, on a port of its own, which customers do
 * not reach, and so without an API key (D24). The probes have bodies in the form of `/v1/health` and `/v1/ready`.
 */
export function createOperatorsApp(services: OperatorsAppServices): FastifyInstance {
  const { metrics, log, health, readiness, options } = services;
  const { allowedHosts } = options;
  const app = createBaseApp({
    ...{ log, allowedHosts, maxBodyBytes: MAX_BODY_BYTES, routes: OPERATORS_ROUTES },
    isForOperators: true,
  });
  app.get("/livez", serveHealth({ health }).handler);
  app.get("/readyz", serveReplicaReady({ readiness }).handler);
  app.get("/metrics", async (_request, reply) => {
    reply.type(metrics.registry.contentType);
    return metrics.registry.metrics();
  });
  return app;
}
