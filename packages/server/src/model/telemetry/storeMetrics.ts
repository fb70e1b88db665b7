import { Gauge, type Registry } from "prom-client";

/** The connections of one role at a scrape. */
export interface ConnectionGauges {
  readonly role: string;
  readonly busy: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

/** The state of the database at a scrape. */
export interface StoreGauges {
  readonly connections: readonly ConnectionGauges[];
  readonly works: boolean;
  /** The kind of the trouble that it has now; undefined if it works. */
  readonly trouble?: string | undefined;
  /** The number of settings and standbys through which commits may be lost. */
  readonly weaknesses: number;
  /** The age of the oldest open transaction of any session, in ms. */
  readonly oldestTransactionMs: number;
}

/** Adds the gauge of the oldest day whose outcomes are kept. @param oldestDay such as 2030-01-31, undefined while unknown. */
export function addRetentionGauge(registry: Registry, oldestDay: () => string | undefined): void {
  new Gauge({
    name: "gas_waiver_oldest_day_seconds",
    help: "The oldest day (UTC) whose outcomes are kept, as the seconds from 1970 to its beginning.",
    registers: [registry],
    collect() {
      this.reset();
      const day = oldestDay();
      if (day !== undefined) this.set(Date.parse(day) / 1_000);
    },
  });
}

/** Adds the gauges of the database, which `read` fills at each scrape. */
export function addStoreGauges(registry: Registry, read: () => StoreGauges): void {
  const registers = [registry];
  new Gauge({
    name: "gas_waiver_store_up",
    help: "1 if the database works, 0 while it cannot store anything or does not answer.",
    registers,
    collect() {
      this.set(Number(read().works));
    },
  });
  new Gauge({
    name: "gas_waiver_store_trouble",
    help: "1 for the trouble that the database has now, such as noStandby or readOnly; no sample while it works.",
    labelNames: ["kind"],
    registers,
    collect() {
      this.reset();
      const { trouble } = read();
      if (trouble !== undefined) this.set({ kind: trouble }, 1);
    },
  });
  new Gauge({
    name: "gas_waiver_store_weaknesses",
    help: "Settings and standbys of the database through which commits may be lost; the log names them.",
    registers,
    collect() {
      this.set(read().weaknesses);
    },
  });
  new Gauge({
    name: "gas_waiver_store_oldest_transaction_seconds",
    help: "Age of the oldest open transaction in the database, of any program: dead rows stay as long as it is open.",
    registers,
    collect() {
      this.set(read().oldestTransactionMs / 1_000);
    },
  });
  new Gauge({
    name: "gas_waiver_store_connections",
    help: "Open connections to the database, by role and state.",
    labelNames: ["role", "state"],
    registers,
    collect() {
      for (const { role, busy, idle } of read().connections) {
        this.set({ role, state: "busy" }, busy);
        this.set({ role, state: "idle" }, idle);
      }
    },
  });
  new Gauge({
    name: "gas_waiver_store_waiting",
    help: "Callers that wait for a connection to the database, by role.",
    labelNames: ["role"],
    registers,
    collect() {
      for (const { role, waiting } of read().connections) this.set({ role }, waiting);
    },
  });
}
