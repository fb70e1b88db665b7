import type { Capacity, Plan } from "./capacity.js";

/** Two significant digits for small numbers, and whole ones with separators from 10 on. */
function format(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return value < 10 ? String(Number(value.toPrecision(2))) : Math.round(value).toLocaleString("en");
}

/** The results as the page and the calculator show them: what is needed, and how much of it. */
export function rowsOf(plan: Plan, capacity: Capacity): [string, string][] {
  const tb = capacity.outcomeGb / 1_000;
  return [
    ["transactions a second at the peak", format(capacity.peakPerSecond)],
    ["transactions a day", format(capacity.perDay)],
    ["cores for all replicas", format(capacity.serviceCores)],
    ["replicas, while one is away", format(capacity.replicasNeeded)],
    ["cores for PostgreSQL", format(capacity.databaseCores)],
    [
      `disk for outcomes of ${format(plan.retentionDays)} days`,
      tb < 1 ? `${format(capacity.outcomeGb)} GB` : `${format(tb)} TB`,
    ],
    ["WAL at the peak", `${format(capacity.walMbPerSecond)} MB/s`],
    ["WAL a day", `${format(capacity.walGbPerDay)} GB`],
    ["transaction ids a day", `${format(capacity.transactionIdsPerDay / 1e6)} million`],
    ["connections of PostgreSQL", format(capacity.connections)],
    ["places in the mempool", format(capacity.mempoolPlaces)],
    ["waiver keys", format(capacity.waiversNeeded)],
    ["KMS calls a second", format(capacity.kmsCallsPerSecond)],
  ];
}
