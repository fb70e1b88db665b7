import type { FastifyInstance } from "fastify";
import { AggregatorRegistry } from "prom-client";
import { connectionLimits, OPERATORS_CONNECTIONS, type OpenConnections } from "./http/limits/connections.js";
import { IDLE_SCRAPER_MS, OPERATORS_ROUTES } from "./http/operatorsApp.js";
import { createPort } from "./http/port/port.js";
import { replaceCertificates } from "./http/port/tls.js";
import type { ResolvedOptions } from "./model/options/options.js";
import { certificateEnd, type TlsCertificate } from "./model/options/tlsCertificate.js";
import { addNetworkGauge, createProcessMetrics } from "./model/telemetry/processMetrics.js";
import type { NetworkSlot, NetworkSlotOptions } from "./networkSlot.js";

export interface PortsOptions
  extends Pick<NetworkSlotOptions, "log" | "version" | "loop" | "registry" | "leaving"> {
  /** The options that all networks share. */
  readonly options: ResolvedOptions;
  readonly slots: readonly NetworkSlot[];
}

/** The ports of a service: the app that listens on each, and what the networks' apps share of it. */
export type Ports = ReturnType<typeof createPorts>;

/**
 * Builds the ports of a service. On the public port, a network has its path or hosts. On the operators' ports, the
 * network's name is its path. A network that is alone has every path of every port.
 */
export function createPorts(portsOptions: PortsOptions) {
  const { options, slots, log, registry, leaving, loop } = portsOptions;
  const metrics = createProcessMetrics(registry);
  const { tls, trustedProxies, allowedHosts } = options;
  if (tls) metrics.certificateEnds(certificateEnd(tls));
  const ofAll = { log, metrics, loop, tls, allowedHosts };
  const api = createPort({
    ...ofAll,
    places: slots.map((slot) => ({ ...slot.place, app: () => slot.running?.apps.api })),
    ...{ leaving, timeouts: options, limits: connectionLimits(options), isCounted: true },
  });
  const placesOf = (name: "operators" | "admin") =>
    slots.map((slot) => ({
      ...{ name: slot.place.name, path: `/${slot.place.name}`, hosts: [] },
      app: () => slot.running && { app: slot.running.apps[name] },
    }));
  const operators = createPort({
    ...ofAll,
    places: placesOf("operators"),
    isForOperators: true,
    limits: { ...OPERATORS_CONNECTIONS, keylessMs: IDLE_SCRAPER_MS, trustedProxies },
    routes: OPERATORS_ROUTES,
  });
  keepScrapers(operators.app, operators.port.connections);
  if (slots.some(({ place }) => !place.isAlone)) serveOperators(operators.app, portsOptions);
  // Connections without a good token make room first, so that nobody keeps the operators out.
  const admin = createPort({
    ...ofAll,
    places: placesOf("admin"),
    isForOperators: true,
    limits: { ...OPERATORS_CONNECTIONS, trustedProxies },
  });
  const apps = { api: api.app, operators: operators.app, admin: admin.app };
  return {
    apps,
    shared: { api: api.port, operators: operators.port, admin: admin.port },
    /** Shows and logs the end of a reload of settings or keys: the reasons why it was refused, if it was. */
    noteReload(problems: readonly string[], news: readonly string[] = []) {
      metrics.reloadRefused(problems.length > 0);
      for (const one of news) log.info(one);
      if (problems.length > 0)
        log.error({ problems }, "a reload was refused: the settings and keys in force stay");
    },
    /**
     * Uses another certificate on all ports for new connections.
     * @throws InvalidOptionsError if it is not valid, or if the service started without one. Then nothing changes.
     */
    setCertificate(fresh: TlsCertificate) {
      replaceCertificates(Object.values(apps), options, fresh, log);
      metrics.certificateEnds(certificateEnd(fresh));
    },
  };
}

/** There is no key here to tell a scraper by, so whoever has been silent for longest makes room. */
function keepScrapers({ server }: FastifyInstance, connections: OpenConnections): void {
  server.on("request", ({ socket }) => connections.renew(socket));
}

/** Serves the metrics of several networks on one page, and the probes of the whole service. */
function serveOperators(app: FastifyInstance, { slots, version, registry }: PortsOptions): void {
  addNetworkGauge(registry, () =>
    slots.map(({ place: { name, options }, running }) => ({
      name,
      chainId: options.chainId,
      runs: running !== undefined,
    })),
  );
  app.get("/livez", () => ({
    status: "ok",
    version,
    networks: Object.fromEntries(slots.map(({ place }) => [place.name, { chainId: place.options.chainId }])),
  }));
  app.get("/readyz", async (_request, reply) => {
    const networks = Object.fromEntries(
      await Promise.all(slots.map(async (slot) => [slot.place.name, await readinessOf(slot)] as const)),
    );
    // A network that is down must not take the requests of the others away.
    const ready = Object.values(networks).some((network) => network.ready);
    return reply
      .status(ready ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ ready, networks });
  });
  app.get("/metrics", async (_request, reply) => {
    const registries = [
      registry,
      ...slots.flatMap(({ running }) => running?.parts.relay.metrics.registry ?? []),
    ];
    const samples = await Promise.all(registries.map((one) => one.getMetricsAsJSON()));
    const all = AggregatorRegistry.aggregate(samples);
    reply.type(all.contentType);
    return all.metrics();
  });
}

async function readinessOf({ running, trouble }: NetworkSlot) {
  if (running) return await running.parts.readiness.probeReplica();
  return { ready: false, message: `the network does not run: ${trouble}` };
}
