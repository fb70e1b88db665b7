import type { FastifyInstance } from "fastify";
import { AggregatorRegistry, Gauge, type Registry } from "prom-client";
import { connectionLimits, OPERATORS_CONNECTIONS } from "./http/limits/connections.js";
import { keepScrapers, scraperLimits } from "./http/operatorsApp.js";
import { createSharedPort } from "./http/port/sharedPort.js";
import type { HttpApps, SharedPorts } from "./httpApps.js";
import type { Logger } from "./model/telemetry/log.js";
import type { ProcessMetrics } from "./model/telemetry/processMetrics.js";
import type { NetworkSlot } from "./networkSlot.js";

export interface NetworksPortsOptions {
  readonly slots: readonly NetworkSlot[];
  readonly log: Logger;
  readonly version: string;
  /** The metrics of the process, and the registry that they are in. */
  readonly metrics: ProcessMetrics;
  readonly registry: Registry;
  /** Aborted when the service begins to shut down. */
  readonly leaving: AbortSignal;
}

/** The ports of a service with several networks. */
export interface NetworksPorts {
  readonly apps: Readonly<Record<keyof HttpApps, FastifyInstance>>;
  readonly ports: SharedPorts;
}

/**
 * Builds the ports of a service with several networks. On the public one a network has its path or hosts; on those of the
 * operators it has its name as its path.
 */
export function createNetworksPorts(options: NetworksPortsOptions): NetworksPorts {
  const { slots, log, metrics, leaving } = options;
  const [first] = slots;
  if (first === undefined) throw new Error("a service needs a network");
  // These are the same for all networks.
  const shared = first.place.options;
  const { tls, trustedProxies } = shared;
  const api = createSharedPort({
    places: slots.map((slot) => ({ ...slot.place, app: () => slot.running?.apps.api })),
    ...{ log, metrics, leaving, tls, timeouts: shared, limits: connectionLimits(shared), isCounted: true },
  });
  const placesOf = (name: "operators" | "admin") =>
    slots.map((slot) => ({
      ...{ name: slot.place.name, path: `/${slot.place.name}`, hosts: [] },
      app: () => slot.running && { app: slot.running.apps[name] },
    }));
  const operators = createSharedPort({
    places: placesOf("operators"),
    ...{ log, metrics, tls, limits: scraperLimits(trustedProxies), routes: OPERATORS_ROUTES },
  });
  keepScrapers(operators.app, operators.port.connections);
  serveOperators(operators.app, options);
  const admin = createSharedPort({
    places: placesOf("admin"),
    ...{ log, metrics, tls, limits: { ...OPERATORS_CONNECTIONS, trustedProxies } },
  });
  return {
    apps: { api: api.app, operators: operators.app, admin: admin.app },
    ports: { api: api.port, operators: operators.port, admin: admin.port },
  };
}

const OPERATORS_ROUTES = ["/livez", "/readyz", "/metrics"].map((path) => ({ method: "GET", path }));

/** Serves the metrics of all networks on one page, and the probes of the whole service. */
function serveOperators(app: FastifyInstance, options: NetworksPortsOptions): void {
  const { slots, version, registry } = options;
  addNetworkGauge(options);
  app.get("/livez", () => ({
    status: "ok",
    version,
    networks: Object.fromEntries(slots.map(({ place }) => [place.name, { chainId: place.options.chainId }])),
  }));
  app.get("/readyz", async (_request, reply) => {
    const networks = Object.fromEntries(
      await Promise.all(slots.map(async (slot) => [slot.place.name, await readinessOf(slot)] as const)),
    );
    // One that is down must not take the requests of the others away.
    const ready = Object.values(networks).some((network) => network.ready);
    return reply
      .status(ready ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ ready, networks });
  });
  app.get("/metrics", async (_request, reply) => {
    const registries = [
      registry,
      ...slots.flatMap(({ running }) => running?.network.parts.relay.metrics.registry ?? []),
    ];
    const samples = await Promise.all(registries.map((one) => one.getMetricsAsJSON()));
    const all = AggregatorRegistry.aggregate(samples);
    reply.type(all.contentType);
    return all.metrics();
  });
}

async function readinessOf({ running, trouble }: NetworkSlot) {
  if (running) return await running.network.parts.readiness.probe();
  return { ready: false, message: `the network does not run: ${trouble}` };
}

function addNetworkGauge({ slots, registry }: Pick<NetworksPortsOptions, "slots" | "registry">): void {
  new Gauge({
    name: "gas_waiver_network_up",
    help: "1 if the network runs, 0 while it cannot start and is tried again; with several networks alone.",
    labelNames: ["network", "chain_id"],
    registers: [registry],
    collect() {
      for (const { place, running } of slots)
        this.set({ network: place.name, chain_id: place.options.chainId }, running ? 1 : 0);
    },
  });
}
