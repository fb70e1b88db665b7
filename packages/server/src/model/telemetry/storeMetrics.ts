import type { Registry } from "prom-client";
import { addCount, addGauge, type Sample } from "./gauges.js";

/** The connections of a pool at one moment. */
export interface PoolUse {
  readonly busy: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

/** The state of the database at a scrape. */
export interface StoreGauges {
  readonly connections: readonly (PoolUse & { readonly role: string })[];
  readonly works: boolean;
  /** The kind of the trouble that it has now; undefined if it works. */
  readonly trouble?: string | undefined;
  /** All kinds of trouble that it may have. */
  readonly troubles: readonly string[];
  /** The time in ms for which the service has waited for another program's lock; 0 without one. */
  readonly blockedMs: number;
  /** The time by which its clock is ahead of this machine's, in ms. */
  readonly clockAheadMs: number;
  /** The number of settings and standbys through which commits may be lost. */
  readonly weaknesses: number;
  /** The age of the oldest open transaction of any session, in ms. */
  readonly oldestTransactionMs: number;
  /** The end of the certificate that the database shows; undefined without TLS. */
  readonly certificateEnd?: Date | undefined;
}

/** Adds the gauge of the oldest day whose outcomes are kept. @param oldestDay such as 2030-01-31, undefined while unknown. */
export function addRetentionGauge(registry: Registry, oldestDay: () => string | undefined): void {
  const help = "The oldest day (UTC) whose outcomes are kept, as the seconds from 1970 to its beginning.";
  addCount(registry, "gas_waiver_oldest_day_seconds", help, () => {
    const day = oldestDay();
    return day === undefined ? undefined : Date.parse(day) / 1_000;
  });
}

/** Adds the gauges of the database, which `read` fills at each scrape. */
export function addStoreGauges(registry: Registry, read: () => StoreGauges): void {
  addCount(
    registry,
    "gas_waiver_store_up",
    "1 if the database works, 0 while it cannot store anything or does not answer.",
    () => Number(read().works),
  );
  addGauge(
    registry,
    "gas_waiver_store_trouble",
    "1 for the trouble that the database has now, such as noStandby or readOnly; 0 for all others.",
    ["kind"],
    () => {
      const { trouble, troubles } = read();
      return troubles.map((kind) => [{ kind }, Number(kind === trouble)]);
    },
  );
  addCount(
    registry,
    "gas_waiver_store_blocked_seconds",
    "Time for which the service has waited for a lock of another program's session, which the log names; 0 without one.",
    () => read().blockedMs / 1_000,
  );
  addCount(
    registry,
    "gas_waiver_store_clock_ahead_seconds",
    "Time by which the database's clock is ahead of this machine's; negative where it is behind.",
    () => read().clockAheadMs / 1_000,
  );
  addCount(
    registry,
    "gas_waiver_store_weaknesses",
    "Settings and standbys of the database through which commits may be lost; the log names them.",
    () => read().weaknesses,
  );
  addCount(
    registry,
    "gas_waiver_store_oldest_transaction_seconds",
    "Age of the oldest open transaction in the database, of any program: dead rows stay as long as it is open.",
    () => read().oldestTransactionMs / 1_000,
  );
  addCount(
    registry,
    "gas_waiver_store_certificate_end_seconds",
    "End of the certificate that the database showed on its newest connection, as seconds from 1970; 0 without TLS.",
    () => (read().certificateEnd?.getTime() ?? 0) / 1_000,
  );
  addConnectionGauges(registry, read);
}

function addConnectionGauges(registry: Registry, read: () => Pick<StoreGauges, "connections">): void {
  addGauge(
    registry,
    "gas_waiver_store_connections",
    "Open connections to the database, by role and state.",
    ["role", "state"],
    () =>
      read().connections.flatMap(({ role, busy, idle }): Sample[] => [
        [{ role, state: "busy" }, busy],
        [{ role, state: "idle" }, idle],
      ]),
  );
  addGauge(
    registry,
    "gas_waiver_store_waiting",
    "Callers that wait for a connection to the database, by role.",
    ["role"],
    () => read().connections.map(({ role, waiting }) => [{ role }, waiting]),
  );
}
