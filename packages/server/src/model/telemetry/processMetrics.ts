import { crypto } from "@gas-waiver/protocol";
import { Counter, collectDefaultMetrics, Gauge, type Registry } from "prom-client";
import { addCount, addGauge } from "./gauges.js";

/** The metrics of the process and of its ports, which all networks share. */
export type ProcessMetrics = ReturnType<typeof createProcessMetrics>;
/** Adds the metrics of the process to a registry, Node's own among them. */
export function createProcessMetrics(registry: Registry) {
  collectDefaultMetrics({ register: registry });
  addGauge(
    registry,
    "gas_waiver_crypto_backend",
    "1 for the cryptography in use: native, wasm or javascript, from the fastest to the slowest.",
    ["backend"],
    () => [[{ backend: crypto.name }, 1]],
  );
  const droppedTotal = new Counter({
    name: "gas_waiver_dropped_connections_total",
    help: "Connections closed because too many were open, on any port.",
    registers: [registry],
  });
  const certificateEnd = new Gauge({
    name: "gas_waiver_certificate_end_seconds",
    help: "End of the certificate that clients see, as seconds from 1970; 0 without TLS.",
    registers: [registry],
  });
  const reloadRefused = new Gauge({
    name: "gas_waiver_reload_refused",
    help: "1 while the settings or keys that were read last were refused, in whole or in part; those before stay in force.",
    registers: [registry],
  });
  return {
    /** Sets whether the last reload of the settings was refused, as a whole or in part. */
    reloadRefused: (isRefused: boolean) => reloadRefused.set(Number(isRefused)),
    /** Counts a connection that was closed because too many were open. */
    dropped: () => droppedTotal.inc(),
    /** Sets the end of the certificate that clients see. */
    certificateEnds: (at: Date) => certificateEnd.set(at.getTime() / 1_000),
    /** Registers the function that counts the open connections at each scrape. */
    countConnections(count: () => number) {
      const help = "Open connections of clients, WebSockets included.";
      addCount(registry, "gas_waiver_open_connections", help, count);
    },
    /** Registers the function that counts the requests that wait for their turn at each scrape. */
    countWaitingRequests(count: () => number) {
      const help = "Requests that wait for the turn of their key or address.";
      addCount(registry, "gas_waiver_waiting_requests", help, count);
    },
  };
}

/** A network at a scrape. */
export interface NetworkGauge {
  readonly name: string;
  readonly chainId: number;
  readonly runs: boolean;
}

/** Adds the gauge of the networks, for a service with several. `read` is called at each scrape. */
export function addNetworkGauge(registry: Registry, read: () => readonly NetworkGauge[]): void {
  addGauge(
    registry,
    "gas_waiver_network_up",
    "1 if the network runs, 0 while it cannot start and is tried again; with several networks alone.",
    ["network", "chain_id"],
    () => read().map(({ name, chainId, runs }) => [{ network: name, chain_id: chainId }, Number(runs)]),
  );
}
