import type { FastifyInstance } from "fastify";
import type { ReadinessProbe } from "../health/readiness.js";
import type { Logger } from "../model/log.js";
import type { Metrics } from "../model/metrics.js";
import type { ResolvedOptions } from "../model/options.js";
import { createBaseApp } from "./base.js";
import { limitConnections, OPERATORS_CONNECTIONS } from "./limits/connections.js";
import { serveHealth } from "./routes/health.js";
import { serveReady } from "./routes/ready.js";
import type { RouteServices } from "./routes/routeHandler.js";

export interface OperatorsAppServices extends Pick<RouteServices, "health"> {
  readonly metrics: Pick<Metrics, "registry" | "dropped">;
  readonly log: Logger;
  readonly readiness: ReadinessProbe;
  readonly options: Pick<ResolvedOptions, "tls" | "trustedProxies">;
}

const PATHS = ["/livez", "/readyz", "/metrics"];
/** Nobody sends a body to these routes. */
const MAX_BODY_BYTES = 1_024;
/** A connection that asks for nothing for this long is closed. Scrapes are a minute apart at most. */
export const IDLE_SCRAPER_MS = 75_000;

/**
 * Serves `GET /metrics` for Prometheus, and the probes `GET /livez` and `GET /readyz`, on a listener of its own, which
 * customers do not reach, and so without an API key (D24). The probes have the bodies of `/v1/health` and `/v1/ready`.
 */
export function createOperatorsApp(services: OperatorsAppServices): FastifyInstance {
  const { metrics, log, health, readiness, options } = services;
  const { tls, trustedProxies } = options;
  const app = createBaseApp({
    log,
    metrics: { refused: () => {} },
    maxBodyBytes: MAX_BODY_BYTES,
    routes: PATHS.map((path) => ({ method: "GET", path })),
    tls,
  });
  const limits = { ...OPERATORS_CONNECTIONS, keylessMs: IDLE_SCRAPER_MS, trustedProxies };
  const connections = limitConnections(app, limits, metrics);
  // There is no key here to tell a scraper by, so whoever has been silent for longest makes room.
  app.server.on("request", ({ socket }) => connections.renew(socket));
  app.get("/livez", serveHealth({ health }).handler);
  app.get("/readyz", serveReady({ readiness }).handler);
  app.get("/metrics", async (_request, reply) => {
    reply.type(metrics.registry.contentType);
    return metrics.registry.metrics();
  });
  return app;
}
