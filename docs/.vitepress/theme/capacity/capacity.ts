// The formulas of docs/guides/capacity.md and of its calculator. test/docs/capacity.test.ts holds the page's tables to them.

/** The numbers of transactions in a request for which the costs were measured. */
export const REQUEST_SIZES = [1, 10, 100] as const;
export type RequestSize = (typeof REQUEST_SIZES)[number];

/** The measured cost of one transaction, by the number of transactions in its request. */
export interface TransactionCost {
  /** Processor time of the service, signing in its own thread included, in µs. */
  readonly serviceUs: number;
  /** The part of `serviceUs` that its main thread takes: a replica has one. */
  readonly mainThreadUs: number;
  /** Processor time of PostgreSQL, in µs. */
  readonly databaseUs: number;
  /** Transaction ids of PostgreSQL, where no writes were shared. */
  readonly transactionIds: number;
}

export const COSTS: Readonly<Record<RequestSize, TransactionCost>> = {
  1: { serviceUs: 1_270, mainThreadUs: 1_210, databaseUs: 530, transactionIds: 1.1 },
  10: { serviceUs: 243, mainThreadUs: 183, databaseUs: 72, transactionIds: 0.2 },
  100: { serviceUs: 216, mainThreadUs: 156, databaseUs: 62, transactionIds: 0.02 },
};
export const OUTCOME_BYTES = 630;
export const WAL_BYTES = 2_300;
/** Connections to PostgreSQL of one replica, and the reserve for commands and operators. */
export const CONNECTIONS_OF_REPLICA = 20;
export const CONNECTIONS_IN_RESERVE = 10;
/** Wrappers of one waiver that may wait for a block (`--max-in-flight`). */
export const MAX_IN_FLIGHT = 1_000;
/** Calls to a KMS that one lane has open at a time. */
export const OPEN_KMS_CALLS = 16;
/** The share of a core that a plan uses at the peak: above it, waiting grows faster than the rate. */
export const UTILISATION = 0.6;
/** A wrapper waits for the next block, and a delayed block makes it wait for another. */
export const BLOCKS_IN_MEMPOOL = 2;

const DAY_SECONDS = 86_400;

/** The load and the set-up to plan for. */
export interface Plan {
  /** Transactions a second, the mean of a day. */
  readonly perSecond: number;
  /** The rate of the busiest minutes, in multiples of the mean. */
  readonly peakFactor: number;
  readonly requestSize: RequestSize;
  readonly retentionDays: number;
  readonly replicas: number;
  readonly waivers: number;
  readonly blockSeconds: number;
  /** The time of one signature of a KMS in ms; 0 for keys in memory. */
  readonly kmsMs: number;
}

export interface Capacity {
  readonly peakPerSecond: number;
  readonly perDay: number;
  /** Cores of all replicas together, and of PostgreSQL, at the peak. */
  readonly serviceCores: number;
  readonly databaseCores: number;
  /** Replicas that carry the peak while one of them is away. */
  readonly replicasNeeded: number;
  readonly outcomeGb: number;
  readonly walMbPerSecond: number;
  readonly walGbPerDay: number;
  readonly transactionIdsPerDay: number;
  readonly connections: number;
  readonly mempoolPlaces: number;
  readonly waiversNeeded: number;
  readonly kmsCallsPerSecond: number;
}

/** Multiplies the numbers of a plan with the measured costs. */
export function capacityOf(plan: Plan): Capacity {
  const { perSecond, requestSize, blockSeconds, kmsMs } = plan;
  const cost = COSTS[requestSize];
  const peakPerSecond = perSecond * plan.peakFactor;
  const perDay = perSecond * DAY_SECONDS;
  const coresFor = (us: number) => (peakPerSecond * us) / 1e6 / UTILISATION;
  const mempoolPlaces = peakPerSecond * blockSeconds * BLOCKS_IN_MEMPOOL;
  const waiversForKms = (peakPerSecond * kmsMs) / 1_000 / OPEN_KMS_CALLS;
  return {
    peakPerSecond,
    perDay,
    serviceCores: coresFor(cost.serviceUs),
    databaseCores: coresFor(cost.databaseUs),
    replicasNeeded: Math.ceil(coresFor(cost.mainThreadUs)) + 1,
    outcomeGb: (perDay * plan.retentionDays * OUTCOME_BYTES) / 1e9,
    walMbPerSecond: (peakPerSecond * WAL_BYTES) / 1e6,
    walGbPerDay: (perDay * WAL_BYTES) / 1e9,
    transactionIdsPerDay: perDay * cost.transactionIds,
    connections: (plan.replicas + 1) * CONNECTIONS_OF_REPLICA + CONNECTIONS_IN_RESERVE,
    mempoolPlaces,
    waiversNeeded: Math.max(1, Math.ceil(mempoolPlaces / MAX_IN_FLIGHT), Math.ceil(waiversForKms)),
    kmsCallsPerSecond: kmsMs > 0 ? peakPerSecond : 0,
  };
}

/** The default size of CometBFT's mempool, the public quota of a KMS, and PostgreSQL's default number of connections. */
export const COMETBFT_MEMPOOL = 5_000;
export const KMS_QUOTA = 300;
export const DEFAULT_MAX_CONNECTIONS = 100;
/** The most that was measured on one primary, in requests of 100, with two cores for everything. */
export const MEASURED_PER_SECOND = 4_910;

/** The sentences about what does not fit, in the order of the page. */
export function shortagesOf(plan: Plan, capacity: Capacity): string[] {
  const shortages: [boolean, string][] = [
    [
      capacity.peakPerSecond > MEASURED_PER_SECOND,
      "The peak is above what was measured on one primary: measure it on yours.",
    ],
    [
      plan.replicas < capacity.replicasNeeded,
      `The peak needs ${capacity.replicasNeeded} replicas while one is away.`,
    ],
    [plan.waivers < capacity.waiversNeeded, `The peak needs ${capacity.waiversNeeded} waiver keys.`],
    [capacity.connections > DEFAULT_MAX_CONNECTIONS, "PostgreSQL's default max_connections is too small."],
    [capacity.mempoolPlaces > COMETBFT_MEMPOOL, "CometBFT's default mempool is too small."],
    [
      capacity.kmsCallsPerSecond > KMS_QUOTA,
      "The KMS calls are above the quota that AWS names: ask for more, or open a data key at the start.",
    ],
  ];
  return shortages.flatMap(([isShort, sentence]) => (isShort ? [sentence] : []));
}
