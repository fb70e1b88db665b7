import { DEFAULTS } from "@gas-waiver/server";
import { wholeNumber } from "../settings/parsers.js";
import type { Values } from "../settings/setting.js";

/**
 * A limit of the service, as a flag and as the variable of the same name. The command passes it on only if it is
 * given; otherwise the service applies `defaultValue` itself.
 */
export function limit(flag: string, placeholder: string, help: string, defaultValue: number, least: number) {
  return {
    flag,
    env: `GAS_WAIVER_${flag.toUpperCase().replaceAll("-", "_")}`,
    placeholder,
    help,
    defaultText: String(defaultValue),
    parse: wholeNumber(least),
  } as const;
}

/** Limits of requests and connections. */
export const REQUEST_LIMITS = {
  maxBatchSize: limit("max-batch-size", "N", "Most transactions in one request.", DEFAULTS.maxBatchSize, 1),
  maxBodyBytes: limit("max-body-bytes", "BYTES", "Largest body of a request.", DEFAULTS.maxBodyBytes, 1024),
  maxWrapperBytes: limit(
    "max-wrapper-bytes",
    "BYTES",
    "Largest wrapper, which counts the whole transaction; geth takes no more. The longest calldata follows from it.",
    DEFAULTS.maxWrapperBytes,
    1_024,
  ),
  ratePerSecond: limit(
    "rate",
    "N",
    "Most transactions a second of each API key, on average.",
    DEFAULTS.ratePerSecond,
    1,
  ),
  rateBurst: limit(
    "rate-burst",
    "N",
    "Most transactions at once of an API key after a pause.",
    DEFAULTS.rateBurst,
    1,
  ),
  readRatePerSecond: limit(
    "read-rate",
    "N",
    "Most reads a second of each API key: records, lists, watch, policy. A page counts one more for each 20 records.",
    DEFAULTS.readRatePerSecond,
    1,
  ),
  readBurst: limit(
    "read-burst",
    "N",
    "Most reads at once of an API key after a pause.",
    DEFAULTS.readBurst,
    1,
  ),
  queueCapacity: limit(
    "queue-capacity",
    "N",
    "Most submissions that wait for their broadcast.",
    DEFAULTS.queueCapacity,
    1,
  ),
  maxSocketRequests: limit(
    "max-socket-requests",
    "N",
    "Most requests in flight on one WebSocket.",
    DEFAULTS.maxSocketRequests,
    1,
  ),
  maxSockets: limit("max-sockets", "N", "Most open WebSockets.", DEFAULTS.maxSockets, 1),
  maxKeySockets: limit(
    "max-key-sockets",
    "N",
    "Most open WebSockets of one API key.",
    DEFAULTS.maxKeySockets,
    1,
  ),
  maxConnections: limit(
    "max-connections",
    "N",
    "Most open connections, WebSockets included.",
    DEFAULTS.maxConnections,
    1,
  ),
  maxAddressConnections: limit(
    "max-address-connections",
    "N",
    "Most open connections of one address, or of one IPv6 network of 64 bits; behind --trusted-proxies, WebSockets of one client.",
    DEFAULTS.maxAddressConnections,
    1,
  ),
  maxHeldBytes: limit(
    "max-held-bytes",
    "BYTES",
    "Most memory for the bodies and frames of open requests.",
    DEFAULTS.maxHeldBytes,
    65_536,
  ),
  headTimeoutMs: limit(
    "head-timeout",
    "MS",
    "Longest time for the head of a request to arrive, in ms.",
    DEFAULTS.headTimeoutMs,
    100,
  ),
  bodyTimeoutMs: limit(
    "body-timeout",
    "MS",
    "Longest time for a whole request or frame to arrive, in ms.",
    DEFAULTS.bodyTimeoutMs,
    100,
  ),
  requestTimeoutMs: limit(
    "request-timeout",
    "MS",
    "Longest time that a result line waits for its transaction, in ms.",
    DEFAULTS.requestTimeoutMs,
    1,
  ),
  idempotencyMs: limit(
    "idempotency-time",
    "MS",
    "Time that the service remembers a request by its Idempotency-Key, in ms.",
    DEFAULTS.idempotencyMs,
    60_000,
  ),
} as const;

/** Connections to the database, by their roles. */
export const STORE_LIMITS = {
  laneConnections: limit(
    "lane-connections",
    "N",
    "Most connections to the database for the lanes.",
    DEFAULTS.laneConnections,
    1,
  ),
  acceptConnections: limit(
    "accept-connections",
    "N",
    "Most connections to the database for accepting submissions.",
    DEFAULTS.acceptConnections,
    1,
  ),
  readConnections: limit(
    "read-connections",
    "N",
    "Most connections to the database for reading.",
    DEFAULTS.readConnections,
    1,
  ),
  adminConnections: limit(
    "admin-connections",
    "N",
    "Most connections to the database for API keys and maintenance.",
    DEFAULTS.adminConnections,
    1,
  ),
} as const;

/** Limits of the lanes, which send what the service has accepted. */
export const LANE_LIMITS = {
  nonceGapTimeoutMs: limit(
    "nonce-gap-timeout",
    "MS",
    "Longest time that a transaction waits for one with an earlier nonce, in ms.",
    DEFAULTS.nonceGapTimeoutMs,
    0,
  ),
  maxInFlight: limit(
    "max-in-flight",
    "N",
    "Most wrappers of one waiver that wait for a block.",
    DEFAULTS.maxInFlight,
    1,
  ),
  maxQueueMs: limit(
    "max-queue-time",
    "MS",
    "Time after which a submission without a broadcast fails, in ms.",
    DEFAULTS.maxQueueMs,
    1,
  ),
  custodyRatePerSecond: limit(
    "custody-rate",
    "N",
    "Most signatures a second that a custody outside of the process is asked for, for each waiver; where it throttles, fewer.",
    DEFAULTS.custodyRatePerSecond,
    1,
  ),
  custodyTimeoutMs: limit(
    "custody-timeout",
    "MS",
    "Time that such a custody may take for a signature, in ms.",
    DEFAULTS.custodyTimeoutMs,
    1,
  ),
  reorgDepth: limit(
    "reorg-depth",
    "BLOCKS",
    "Deepest reorg that the service reckons with, in blocks; 0 if blocks are final at once.",
    DEFAULTS.reorgDepth,
    0,
  ),
  resendAfterMs: limit(
    "resend-after",
    "MS",
    "Time after which a wrapper without a block is sent again, in ms.",
    DEFAULTS.resendAfterMs,
    1,
  ),
  leaseMs: limit(
    "lease",
    "MS",
    "Time after which other replicas take over the lanes of a silent one, in ms.",
    DEFAULTS.leaseMs,
    300,
  ),
  shutdownDelayMs: limit(
    "shutdown-delay",
    "MS",
    "Time for which the service goes on serving after SIGTERM while readiness is 503, so that proxies notice, in ms.",
    DEFAULTS.shutdownDelayMs,
    0,
  ),
} as const;

/** Limits of the lanes that count for all networks of a service. */
const { leaseMs: _lease, shutdownDelayMs: _delay, ...ofNetwork } = LANE_LIMITS;

/** Limits that depend on a chain. */
export const NETWORK_LIMITS = { maxWrapperBytes: REQUEST_LIMITS.maxWrapperBytes, ...ofNetwork } as const;

/** A key's burst and its share of the queue must hold a whole batch (D22). */
export function problemsOfLimits({
  rateBurst = DEFAULTS.rateBurst,
  queueCapacity = DEFAULTS.queueCapacity,
  maxBatchSize = DEFAULTS.maxBatchSize,
}: Partial<Values<typeof REQUEST_LIMITS>>): string[] {
  const never = `a batch of --max-batch-size (${maxBatchSize}) could never pass`;
  const share = Math.ceil(queueCapacity * DEFAULTS.keyQueueShare);
  return [
    ...(rateBurst < maxBatchSize ? [`--rate-burst is ${rateBurst}: ${never}`] : []),
    ...(share < maxBatchSize
      ? [`--queue-capacity is ${queueCapacity}, of which one API key may have ${share}: ${never}`]
      : []),
  ];
}
