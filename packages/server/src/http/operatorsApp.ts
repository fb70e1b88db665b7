import type { FastifyInstance } from "fastify";
import type { ReadinessProbe } from "../health/readiness.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import type { Metrics } from "../model/telemetry/metrics.js";
import { createBaseApp } from "./base.js";
import {
  type ConnectionLimits,
  limitConnections,
  OPERATORS_CONNECTIONS,
  type OpenConnections,
} from "./limits/connections.js";
import type { SharedPort } from "./port/sharedPort.js";
import { serveHealth } from "./routes/health.js";
import { serveReady } from "./routes/ready.js";
import type { RouteServices } from "./routes/routeHandler.js";

export interface OperatorsAppServices extends Pick<RouteServices, "health"> {
  readonly metrics: Pick<Metrics, "registry" | "dropped">;
  readonly log: Logger;
  readonly readiness: ReadinessProbe;
  readonly options: Pick<ResolvedOptions, "tls" | "trustedProxies">;
  /** The port of several networks, if this app shares one. */
  readonly port?: SharedPort | undefined;
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
  const { metrics, log, health, readiness, options, port } = services;
  const { tls, trustedProxies } = options;
  const app = createBaseApp({
    log,
    metrics: { refused: () => {} },
    maxBodyBytes: MAX_BODY_BYTES,
    routes: PATHS.map((path) => ({ method: "GET", path })),
    ...(port ? { isBehindPort: true } : { tls }),
  });
  if (!port) keepScrapers(app, limitConnections(app, scraperLimits(trustedProxies), metrics));
  app.get("/livez", serveHealth({ health }).handler);
  app.get("/readyz", serveReady({ readiness }).handler);
  app.get("/metrics", async (_request, reply) => {
    reply.type(metrics.registry.contentType);
    return metrics.registry.metrics();
  });
  return app;
}

/** Returns the limits of the connections of the metrics' port. */
export function scraperLimits(trustedProxies: readonly string[]): ConnectionLimits {
  return { ...OPERATORS_CONNECTIONS, keylessMs: IDLE_SCRAPER_MS, trustedProxies };
}

/** There is no key here to tell a scraper by, so whoever has been silent for longest makes room. */
export function keepScrapers({ server }: FastifyInstance, connections: OpenConnections): void {
  server.on("request", ({ socket }) => connections.renew(socket));
}
