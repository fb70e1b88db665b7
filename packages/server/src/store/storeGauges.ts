import type { Registry } from "prom-client";
import { addGauge, type Sample } from "../model/telemetry/gauges.js";
import { TROUBLE_KINDS } from "./database/storeTrouble.js";
import type { StoreMonitor } from "./primary/monitor.js";
import type { OpenStore } from "./store.js";

/** The parts of a store that its gauges read at each scrape. */
export interface ScrapedStore extends Pick<OpenStore, "connectionUse"> {
  readonly monitor: Pick<
    StoreMonitor,
    "trouble" | "blockedMs" | "weaknesses" | "oldestTransactionMs" | "certificateEnd"
  >;
  readonly clock: Pick<OpenStore["clock"], "aheadMs">;
}

type StoreGauge = readonly [
  name: string,
  help: string,
  labelNames: readonly string[],
  samples: (store: ScrapedStore) => readonly Sample[],
];

const STORE_GAUGES: readonly StoreGauge[] = [
  [
    "gas_waiver_store_up",
    "1 if the database works, 0 while it cannot store anything or does not answer.",
    [],
    ({ monitor }) => [[{}, Number(monitor.trouble === undefined)]],
  ],
  [
    "gas_waiver_store_trouble",
    "1 for the trouble that the database has now, such as noStandby or readOnly; 0 for all others.",
    ["kind"],
    ({ monitor }) => TROUBLE_KINDS.map((kind) => [{ kind }, Number(kind === monitor.trouble?.kind)]),
  ],
  [
    "gas_waiver_store_blocked_seconds",
    "Time for which the service has waited for a lock of another program's session, which the log names; 0 without one.",
    [],
    ({ monitor }) => [[{}, monitor.blockedMs / 1_000]],
  ],
  [
    "gas_waiver_store_clock_ahead_seconds",
    "Time by which the database's clock is ahead of this machine's; negative where it is behind.",
    [],
    ({ clock }) => [[{}, clock.aheadMs / 1_000]],
  ],
  [
    "gas_waiver_store_weaknesses",
    "Settings and standbys of the database through which commits may be lost; the log names them.",
    [],
    ({ monitor }) => [[{}, monitor.weaknesses.length]],
  ],
  [
    "gas_waiver_store_oldest_transaction_seconds",
    "Age of the oldest open transaction in the database, of any program: dead rows stay as long as it is open.",
    [],
    ({ monitor }) => [[{}, monitor.oldestTransactionMs / 1_000]],
  ],
  [
    "gas_waiver_store_certificate_end_seconds",
    "End of the certificate that the database showed on its newest connection, as seconds from 1970; 0 without TLS.",
    [],
    ({ monitor }) => [[{}, (monitor.certificateEnd?.getTime() ?? 0) / 1_000]],
  ],
  [
    "gas_waiver_store_connections",
    "Open connections to the database, by role and state.",
    ["role", "state"],
    (store) =>
      store.connectionUse().flatMap(({ role, busy, idle }): Sample[] => [
        [{ role, state: "busy" }, busy],
        [{ role, state: "idle" }, idle],
      ]),
  ],
  [
    "gas_waiver_store_waiting",
    "Callers that wait for a connection to the database, by role.",
    ["role"],
    (store) => store.connectionUse().map(({ role, waiting }) => [{ role }, waiting]),
  ],
];

/** Adds the gauges of the database. */
export function addStoreGauges(registry: Registry, store: ScrapedStore): void {
  for (const [name, help, labelNames, samples] of STORE_GAUGES)
    addGauge(registry, name, help, labelNames, () => samples(store));
}
