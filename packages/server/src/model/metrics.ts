import type { LineCode, SendVerdict } from "@gas-waiver/protocol";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** What an operator watches, in Prometheus' terms. Counters are of this replica; gauges of lanes are of the store. */
export interface Metrics {
  readonly registry: Registry;
  /** Submissions taken into the store. */
  accepted(count: number): void;
  /** A line that was answered: `OK` or its error's code, and how long its request had waited. */
  answered(code: LineCode | "OK", seconds: number): void;
  /** A request that was refused whole, by reason. */
  refused(reason: string): void;
  /** What the node's answers to sent wrappers meant. */
  sent(kind: SendVerdict["kind"]): void;
  /** So many WebSockets are open. */
  sockets(open: number): void;
  /** A connection was closed at once, because there were as many as there may be. */
  dropped(): void;
  /** Where the number of open connections comes from when it is asked for. */
  countConnections(count: () => Promise<number>): void;
}

/** One row of the lanes' gauges. */
export interface LaneGauges {
  readonly waiver: string;
  readonly usable: boolean;
  readonly queued: number;
  readonly inFlight: number;
  /** How long the oldest queued submission has waited, in ms. */
  readonly oldestMs: number;
}

export function createMetrics(lanes: () => readonly LaneGauges[]): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const acceptedTotal = new Counter({
    name: "gas_waiver_accepted_total",
    help: "Submissions taken into the store.",
    registers,
  });
  const lineSeconds = new Histogram({
    name: "gas_waiver_line_seconds",
    help: "From the request to its line, by the line's code (OK for success).",
    labelNames: ["code"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const refusedTotal = new Counter({
    name: "gas_waiver_refused_requests_total",
    help: "Requests refused whole, by reason.",
    labelNames: ["reason"],
    registers,
  });
  const sentTotal = new Counter({
    name: "gas_waiver_node_answers_total",
    help: "What the node's answers to sent wrappers meant.",
    labelNames: ["meaning"],
    registers,
  });
  const openSockets = new Gauge({
    name: "gas_waiver_open_sockets",
    help: "WebSockets that are open.",
    registers,
  });
  const droppedTotal = new Counter({
    name: "gas_waiver_dropped_connections_total",
    help: "Connections closed at once, because there were as many as there may be.",
    registers,
  });
  addLaneGauges(registers, lanes);
  return {
    registry,
    accepted: (count) => acceptedTotal.inc(count),
    answered: (code, seconds) => lineSeconds.observe({ code }, seconds),
    refused: (reason) => refusedTotal.inc({ reason }),
    sent: (kind) => sentTotal.inc({ meaning: kind }),
    sockets: (open) => openSockets.set(open),
    dropped: () => droppedTotal.inc(),
    countConnections(count) {
      new Gauge({
        name: "gas_waiver_open_connections",
        help: "Connections of customers that are open, WebSockets among them.",
        registers,
        async collect() {
          this.set(await count());
        },
      });
    },
  };
}

const LANE_GAUGES = [
  ["gas_waiver_lane_usable", "1 if the lane takes work.", (lane: LaneGauges) => Number(lane.usable)],
  ["gas_waiver_lane_queued", "Submissions that wait for a broadcast.", (lane: LaneGauges) => lane.queued],
  [
    "gas_waiver_lane_under_way",
    "Submissions that are signed or broadcast.",
    (lane: LaneGauges) => lane.inFlight,
  ],
  [
    "gas_waiver_lane_oldest_seconds",
    "How long the oldest queued submission has waited.",
    (lane: LaneGauges) => lane.oldestMs / 1_000,
  ],
] as const;

function addLaneGauges(registers: Registry[], lanes: () => readonly LaneGauges[]): void {
  for (const [metric, help, gaugeOf] of LANE_GAUGES) {
    new Gauge({
      name: metric,
      help,
      labelNames: ["waiver"],
      registers,
      collect() {
        this.reset();
        for (const lane of lanes()) this.set({ waiver: lane.waiver }, gaugeOf(lane));
      },
    });
  }
}
