import { crypto } from "@gas-waiver/protocol";
import { Counter, collectDefaultMetrics, Gauge, type Registry } from "prom-client";

/** The metrics of the process and of its ports, which all networks share. */
export interface ProcessMetrics {
  /** Counts a connection that was closed because too many were open. */
  dropped(): void;
  /** Registers the function that counts the open connections at each scrape. */
  countConnections(count: () => Promise<number>): void;
  /** Registers the function that counts the requests that wait for their turn at each scrape. */
  countWaitingRequests(count: () => number): void;
}

/** Adds the metrics of the process to a registry, Node's own among them. */
export function createProcessMetrics(registry: Registry): ProcessMetrics {
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  addCryptoGauge(registers);
  const droppedTotal = new Counter({
    name: "gas_waiver_dropped_connections_total",
    help: "Connections closed because too many were open, on any port.",
    registers,
  });
  const addGauge = (name: string, help: string, count: () => number | Promise<number>) => {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await count());
      },
    });
  };
  return {
    dropped: () => droppedTotal.inc(),
    countConnections: (count) =>
      addGauge("gas_waiver_open_connections", "Open connections of clients, WebSockets included.", count),
    countWaitingRequests: (count) =>
      addGauge(
        "gas_waiver_waiting_requests",
        "Requests that wait for the turn of their key or address.",
        count,
      ),
  };
}

function addCryptoGauge(registers: Registry[]): void {
  new Gauge({
    name: "gas_waiver_crypto_backend",
    help: "1 for the cryptography in use: native, wasm or javascript, from the fastest to the slowest.",
    labelNames: ["backend"],
    registers,
    collect() {
      this.reset();
      this.set({ backend: crypto.name }, 1);
    },
  });
}
