import { Registry } from "prom-client";
import { addNodeGauges } from "../../packages/server/src/chain/heads/nodeStatus.js";
import { addRetentionGauge } from "../../packages/server/src/maintenance/outcomeDays.js";
import { createMetrics } from "../../packages/server/src/model/telemetry/metrics.js";
import {
  addNetworkGauge,
  createProcessMetrics,
} from "../../packages/server/src/model/telemetry/processMetrics.js";
import { addStoreGauges } from "../../packages/server/src/store/storeGauges.js";
import { code, page, table } from "./markdown.js";

interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

/** A store of which all gauges can be shown. */
export const STORE_WITHOUT_TROUBLE: Parameters<typeof addStoreGauges>[1] = {
  monitor: {
    ...{ trouble: undefined, blockedMs: 0, weaknesses: [] },
    ...{ oldestTransactionMs: 0, certificateEnd: undefined },
  },
  clock: { aheadMs: 0 },
  connectionUse: () => [],
};

/** docs/reference/metrics.md */
export function metricsPage(): string {
  const registry = new Registry();
  const ofProcess = createProcessMetrics(registry);
  const metrics = createMetrics(registry, () => []);
  addNodeGauges(metrics.registry, () => []);
  ofProcess.countConnections(() => 0);
  ofProcess.countWaitingRequests(() => 0);
  metrics.countWaitingReads(() => 0);
  metrics.countSlowedAddresses(() => 0);
  addStoreGauges(registry, STORE_WITHOUT_TROUBLE);
  addRetentionGauge(registry, () => undefined);
  addNetworkGauge(registry, () => []);
  const all = registry.getMetricsAsArray() as unknown as MetricDefinition[];
  const own = all.filter(({ name }) => name.startsWith("gas_waiver_"));
  const standard = all.filter(({ name }) => !name.startsWith("gas_waiver_"));
  registry.clear();
  return page(
    "packages/server/src/model/telemetry/metrics.ts",
    "Metrics",
    "`gas-waiver serve --metrics-port PORT` opens `GET /metrics` for Prometheus on a port of its own, on 127.0.0.1 or `--metrics-host`. Counters and histograms are of the replica that is asked; the gauges of lanes are of the store, and the same on every replica. [The guide](../guides/monitoring.md) says which to watch.",
    table(
      ["metric", "type", "labels", "meaning"],
      own.map((metric) => [
        code(metric.name),
        typeOf(metric),
        (metric.labelNames ?? []).map(code).join(", "),
        metric.help,
      ]),
    ),
    "## Node's own",
    `Beside them are the standard metrics of the process, as \`prom-client\` names them: ${standard.map(({ name }) => code(name)).join(", ")}.`,
  );
}

/** The library names a metric's type by its class. */
function typeOf(metric: object): string {
  return metric.constructor.name.toLowerCase();
}
