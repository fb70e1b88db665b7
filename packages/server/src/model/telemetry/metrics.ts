import {
  LINE_CODES,
  type LineCode,
  type ProtocolError,
  REASONS,
  type SendVerdict,
} from "@gas-waiver/protocol";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { LANE_WAITS, type LaneWait } from "../submission/waitCauses.js";
import { addCount, addGauge, type Sample } from "./gauges.js";
import { createRefusedKeys } from "./refusedKeys.js";

// Every series whose labels are known begins with 0: an alarm on an increase would miss a series that is born with its first event.

/** The ends of a call to a custody: a good signature, none, none for now, or one that is not the waiver's (D33). */
const CUSTODY_OUTCOMES = ["signed", "failed", "throttled", "wrong"] as const;
export type CustodyOutcome = (typeof CUSTODY_OUTCOMES)[number];

/** The meanings of a node's answer to a sent wrapper. */
const MEANINGS: Readonly<Record<SendVerdict["kind"], true>> = {
  accepted: true,
  "already known": true,
  "nonce too low": true,
  "nonce gap": true,
  occupied: true,
  "waiver unusable": true,
  refused: true,
  "inner too early": true,
  "inner too late": true,
  "not now": true,
  disputed: true,
  ambiguous: true,
};

/** The end of a result line, as the metrics count it. */
export type LineOutcome = LineCode | "OK" | "REVERTED";

/** The Prometheus metrics of a network on this replica. The gauges of lanes come from the store, so every replica has the same. */
export type Metrics = ReturnType<typeof createMetrics>;

/** The work of a lane, as the store has it. */
export interface LaneWork {
  /** The lane's wait, and its length; undefined while it goes on, and without an owner. */
  readonly wait: (LaneWait & { readonly ms: number }) | undefined;
  /** The UUID of the replica that holds the lease and can sign, or to which the lane is being handed. */
  readonly owner: string | undefined;
  /** The number of queued submissions. */
  readonly queued: number;
  /** The number of submissions that are signed or broadcast. */
  readonly inFlight: number;
  /** The age of the oldest queued submission, in ms; 0 without one. */
  readonly oldestMs: number;
  /** The age of the oldest submission that is signed or broadcast, in ms; 0 without one. */
  readonly oldestInFlightMs: number;
  /** The number of queued submissions that were signed before and are in a pause: no node has taken them for good. */
  readonly setAside: number;
  /** The uses of the waiver's nonces by something else that count at present. */
  readonly foreignUses: number;
}

/** The values of one lane's gauges. */
export interface LaneGauges extends LaneWork {
  readonly waiver: string;
  readonly usable: boolean;
  /** The lane is to take new work: it is not stopped, draining or retired. */
  readonly open: boolean;
  /** The lane signs and sends nothing until an operator opens it. */
  readonly stopped: boolean;
}

/** Adds the metrics of a network to a registry. `lanes` is called at each scrape. */
export function createMetrics(registry: Registry, lanes: () => readonly LaneGauges[]) {
  const registers = [registry];
  const counter = counters(registers);
  const acceptedTotal = counter("gas_waiver_accepted_total", "Accepted submissions.");
  const acceptedSignedTotal = counter(
    "gas_waiver_accepted_signed_total",
    "Accepted submissions that were signed in the write that accepted them, as a lane with nothing queued does.",
  );
  const sentTotal = counter(
    "gas_waiver_node_answers_total",
    "The node's answers to sent wrappers, by their meaning.",
    "meaning",
  );
  for (const meaning of Object.keys(MEANINGS)) sentTotal.inc({ meaning }, 0);
  const openSockets = new Gauge({ name: "gas_waiver_open_sockets", help: "Open WebSockets.", registers });
  addLaneGauges(registry, lanes);
  const counted = (name: string, help: string) => (count: () => number) =>
    addCount(registry, name, help, count);
  return {
    registry,
    ...requestMetrics(registry),
    /** Registers the function that counts the addresses that are slowed down at each scrape. */
    countSlowedAddresses: counted(
      "gas_waiver_slowed_addresses",
      "Addresses that have shown too many unknown keys.",
    ),
    /** Counts accepted submissions, and those among them that were signed in the same write. */
    accepted(all: number, signed: number) {
      acceptedTotal.inc(all);
      acceptedSignedTotal.inc(signed);
    },
    /** Counts an answer of the node to a sent wrapper, by its meaning. */
    sent: (kind: SendVerdict["kind"]) => sentTotal.inc({ meaning: kind }),
    /** @returns a function that observes the end of a call to a waiver's custody outside of this process, and the seconds that it took. */
    custodyOf: custodyMetrics(registers),
    /** Sets the number of open WebSockets. */
    sockets: (open: number) => openSockets.set(open),
    /** Registers the function that counts the waiting reads at each scrape. */
    countWaitingReads: counted(
      "gas_waiver_waiting_reads",
      "Reads (records, lists, watch, policy) that wait for their turn.",
    ),
  };
}

/** Makes functions that add a counter. */
const counters =
  (registers: Registry[]) =>
  (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers });

/** The metrics of requests and their lines. */
function requestMetrics(registry: Registry) {
  const registers = [registry];
  const refusedKeys = createRefusedKeys();
  addGauge(
    registry,
    "gas_waiver_key_refused_requests",
    "Requests that were refused in the last 30 to 60 s for the key's rate, caps or share of the queue, for the ten keys with most.",
    ["key"],
    () => refusedKeys.most().map(([key, count]): Sample => [{ key }, count]),
  );
  const counter = counters(registers);
  const lineSeconds = new Histogram({
    name: "gas_waiver_line_seconds",
    help: "Time from the request to its result line, by the line's code (OK for success, REVERTED for what ran and reverted).",
    labelNames: ["code"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const refusedTotal = counter(
    "gas_waiver_refused_requests_total",
    "Requests refused as a whole, by reason.",
    "reason",
  );
  const failedTotal = counter(
    "gas_waiver_failed_authentications_total",
    "Requests with a key or token that is not valid, by interface (api or admin) and reason.",
    ...["interface", "reason"],
  );
  for (const code of ["OK", "REVERTED", ...LINE_CODES]) lineSeconds.zero({ code });
  for (const reason of Object.keys(REASONS)) refusedTotal.inc({ reason }, 0);
  return {
    /** Observes a result line: `OK` or the code of its error, and the seconds since its request. */
    answered: (code: LineOutcome, seconds: number) => lineSeconds.observe({ code }, seconds),
    /** Counts a request that was refused as a whole, by reason; and by its API key, if that has sent too much. */
    refused({ reason, code }: Pick<ProtocolError, "reason" | "code">, keyId?: string) {
      refusedTotal.inc({ reason });
      if (keyId !== undefined && (code === "RATE_LIMITED" || code === "QUEUE_FULL")) refusedKeys.add(keyId);
    },
    /** Counts a request with a key or token that is not valid. */
    authenticationFailed: (port: "api" | "admin", reason: string) =>
      failedTotal.inc({ interface: port, reason }),
  };
}

function custodyMetrics(registers: Registry[]) {
  const total = new Counter({
    name: "gas_waiver_custody_answers_total",
    help: "Calls to a custody outside of the process, by waiver and outcome: signed, failed, throttled or wrong.",
    labelNames: ["waiver", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "gas_waiver_custody_seconds",
    help: "Time of a call to a custody outside of the process.",
    labelNames: ["waiver"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  return (waiver: string) => {
    for (const outcome of CUSTODY_OUTCOMES) total.inc({ waiver, outcome }, 0);
    return (outcome: CustodyOutcome, elapsed: number) => {
      total.inc({ waiver, outcome });
      seconds.observe({ waiver }, elapsed);
    };
  };
}

const LANE_GAUGES = [
  ["gas_waiver_lane_usable", "1 if the lane takes new work.", (lane: LaneGauges) => Number(lane.usable)],
  [
    "gas_waiver_lane_open",
    "1 if the lane is to take new work: it is not stopped, draining or retired.",
    (lane: LaneGauges) => Number(lane.open),
  ],
  [
    "gas_waiver_lane_stopped",
    "1 if the lane has stopped: an operator must open it.",
    (lane: LaneGauges) => Number(lane.stopped),
  ],
  ["gas_waiver_lane_queued", "Queued submissions.", (lane: LaneGauges) => lane.queued],
  [
    "gas_waiver_lane_under_way",
    "Submissions that are signed or broadcast.",
    (lane: LaneGauges) => lane.inFlight,
  ],
  [
    "gas_waiver_lane_oldest_seconds",
    "Age of the oldest queued submission.",
    (lane: LaneGauges) => lane.oldestMs / 1_000,
  ],
  [
    "gas_waiver_lane_oldest_in_flight_seconds",
    "Age of the oldest submission that is signed or broadcast.",
    (lane: LaneGauges) => lane.oldestInFlightMs / 1_000,
  ],
  [
    "gas_waiver_lane_set_aside",
    "Queued submissions in a pause after a try that no node took.",
    (lane: LaneGauges) => lane.setAside,
  ],
  [
    "gas_waiver_lane_foreign_uses",
    "Uses of the waiver's nonces by something else, as they count towards the stop of the lane.",
    (lane: LaneGauges) => lane.foreignUses,
  ],
] as const;

function addLaneGauges(registry: Registry, lanes: () => readonly LaneGauges[]): void {
  for (const [name, help, gaugeOf] of LANE_GAUGES) {
    addGauge(registry, name, help, ["waiver"], () =>
      lanes().map((lane) => [{ waiver: lane.waiver }, gaugeOf(lane)]),
    );
  }
  addGauge(
    registry,
    "gas_waiver_lane_waits_seconds",
    "Time for which the lane has waited, by the cause; 0 for what it does not wait for.",
    ["waiver", "cause"],
    () =>
      lanes().flatMap(({ waiver, wait }) =>
        Object.keys(LANE_WAITS).map((cause): Sample => {
          const ms = wait?.cause === cause ? wait.ms : 0;
          return [{ waiver, cause }, ms / 1_000];
        }),
      ),
  );
  addGauge(
    registry,
    "gas_waiver_replica_lanes",
    "Lanes that the replica has, by its UUID.",
    ["replica"],
    () => {
      const owners = lanes().flatMap(({ owner }) => owner ?? []);
      return owners.map((replica) => [{ replica }, owners.filter((owner) => owner === replica).length]);
    },
  );
}
