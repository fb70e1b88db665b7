// Shared by the programs of bench:years: the days, and the numbers of everything.
export const DAYS = 90;
/** Outcomes that the store has of transactions in the load, spread over the days. Both stores have them. */
export const KNOWN = 300;
/** The service's disk need of one outcome in bytes, with its indexes, the write-ahead log and the exported day. */
export const BYTES_PER_ROW = 650;
export const SPARE_BYTES = 4e9;
/** Requests of each kind in a round. */
export const REQUESTS = { singles: 200, batches: 20, reads: 200 };
export const BATCH = 100;
/** New transactions that a round sends. */
export const SENT_PER_ROUND = REQUESTS.singles + 2 * REQUESTS.batches * BATCH;

const DAY_MS = 86_400_000;

const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);

export const today = () => dayOf(Date.now());

/** The days of the store, up to the one before `end`. */
export function pastDays(end) {
  return Array.from({ length: DAYS }, (_, i) => dayOf(Date.parse(end) - (DAYS - i) * DAY_MS));
}

/** The id of a known outcome: at noon of its day. */
export function knownId(days, i) {
  const ms = (Date.parse(days[i % DAYS]) + DAY_MS / 2 + i).toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7fff-8000-${i.toString(16).padStart(12, "0")}`;
}
