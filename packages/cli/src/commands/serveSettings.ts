import { DEFAULTS } from "@gas-waiver/server";
import { origins } from "../settings/origins.js";
import {
  adminTokens,
  allowedTargets,
  apiKeys,
  fileOf,
  keyFile,
  LOG_LEVELS,
  logLevel,
  policySource,
  port,
  privateKeys,
  text,
  url,
  urls,
  wholeNumber,
} from "../settings/parsers.js";
import type { Alternatives, Values } from "../settings/setting.js";

/** A limit of the service: its own default holds unless the setting is given. */
function limit(flag: string, placeholder: string, help: string, defaultValue: number, least: number) {
  return {
    flag,
    env: `GAS_WAIVER_${flag.toUpperCase().replaceAll("-", "_")}`,
    placeholder,
    help,
    defaultText: String(defaultValue),
    parse: wholeNumber(least),
  } as const;
}

export const SERVE_SETTINGS = {
  rpcUrl: {
    flag: "rpc-url",
    env: "GAS_WAIVER_RPC_URL",
    placeholder: "URL",
    help: "JSON-RPC of the chain's node; several, separated by commas, in the order of preference.",
    required: true,
    parse: urls("http:", "https:"),
  },
  rpcWsUrl: {
    flag: "rpc-ws-url",
    env: "GAS_WAIVER_RPC_WS_URL",
    placeholder: "URL",
    help: "JSON-RPC of the chain's node over WebSocket: new blocks are heard of at once.",
    parse: url("ws:", "wss:"),
  },
  chainId: {
    flag: "chain-id",
    env: "GAS_WAIVER_CHAIN_ID",
    placeholder: "ID",
    help: "The chain: 988 mainnet, 2201 testnet and devnet.",
    required: true,
    parse: wholeNumber(1),
  },
  allowedTargets: {
    flag: "allowed-targets",
    env: "GAS_WAIVER_ALLOWED_TARGETS",
    placeholder: "FILE",
    help: 'What may be sent, as JSON: [{"address": "0x…" or "*", "selectors": ["0x…"]}].',
    defaultText: "what the chain's registry permits the waivers",
    parse: fileOf(allowedTargets),
  },
  policySource: {
    flag: "policy-source",
    env: "GAS_WAIVER_POLICY_SOURCE",
    placeholder: "SOURCE",
    help: "Who says what may be sent: registry, config (--allowed-targets), or both, which narrow each other.",
    defaultText: "config with --allowed-targets, otherwise registry",
    parse: policySource,
  },
  waiverKeyFile: {
    flag: "waiver-key-file",
    env: "GAS_WAIVER_KEY_FILE",
    placeholder: "FILE",
    help: "The waivers' private keys, as hex, one a line. Read again on SIGHUP.",
    parse: keyFile,
  },
  apiKeysFile: {
    flag: "api-keys-file",
    env: "GAS_WAIVER_API_KEYS_FILE",
    placeholder: "FILE",
    help: "API keys that may submit beside those of `gas-waiver keys`, one a line.",
    parse: fileOf(apiKeys),
  },
  dataDir: {
    flag: "data-dir",
    env: "GAS_WAIVER_DATA_DIR",
    placeholder: "FOLDER",
    help: "Where a PostgreSQL of the service's own keeps its data, unless DATABASE_URL names one.",
    defaultText: ".gas-waiver",
    parse: text,
  },
  host: {
    flag: "host",
    env: "GAS_WAIVER_HOST",
    placeholder: "ADDRESS",
    help: "Address to listen on.",
    initial: "127.0.0.1",
    parse: text,
  },
  port: {
    flag: "port",
    env: "GAS_WAIVER_PORT",
    placeholder: "PORT",
    help: "Port to listen on; 0 picks a free one.",
    initial: "8080",
    parse: port,
  },
  metricsPort: {
    flag: "metrics-port",
    env: "GAS_WAIVER_METRICS_PORT",
    placeholder: "PORT",
    help: "Port for GET /metrics (Prometheus), on the same address; 0 picks a free one.",
    defaultText: "none",
    parse: port,
  },
  corsOrigins: {
    flag: "cors-origins",
    env: "GAS_WAIVER_CORS_ORIGINS",
    placeholder: "ORIGINS",
    help: "Whose pages may call from a browser: origins separated by commas, loopback, or *.",
    defaultText: "nobody's",
    parse: origins,
  },
  adminPort: {
    flag: "admin-port",
    env: "GAS_WAIVER_ADMIN_PORT",
    placeholder: "PORT",
    help: "Port for the operators' API, which manages API keys; it needs GAS_WAIVER_ADMIN_TOKEN.",
    defaultText: "none",
    parse: port,
  },
  adminHost: {
    flag: "admin-host",
    env: "GAS_WAIVER_ADMIN_HOST",
    placeholder: "ADDRESS",
    help: "Address that the operators' API listens on.",
    initial: "127.0.0.1",
    parse: text,
  },
  maxBatchSize: limit("max-batch-size", "N", "Transactions in one request.", DEFAULTS.maxBatchSize, 1),
  maxBodyBytes: limit("max-body-bytes", "BYTES", "Size of a request's body.", DEFAULTS.maxBodyBytes, 1024),
  ratePerSecond: limit("rate", "N", "Transactions a second for each API key.", DEFAULTS.ratePerSecond, 1),
  rateBurst: limit("rate-burst", "N", "Transactions at once after a pause.", DEFAULTS.rateBurst, 1),
  queueCapacity: limit(
    "queue-capacity",
    "N",
    "Submissions that wait for a broadcast.",
    DEFAULTS.queueCapacity,
    1,
  ),
  maxSocketRequests: limit(
    "max-socket-requests",
    "N",
    "Requests that one WebSocket may have under way.",
    DEFAULTS.maxSocketRequests,
    1,
  ),
  maxSockets: limit("max-sockets", "N", "Open WebSockets.", DEFAULTS.maxSockets, 1),
  maxKeySockets: limit("max-key-sockets", "N", "Open WebSockets of one API key.", DEFAULTS.maxKeySockets, 1),
  maxConnections: limit("max-connections", "N", "Open connections of all kinds.", DEFAULTS.maxConnections, 1),
  maxHeldBytes: limit(
    "max-held-bytes",
    "BYTES",
    "Bodies and frames that are held in memory at once.",
    DEFAULTS.maxHeldBytes,
    65_536,
  ),
  headTimeoutMs: limit(
    "head-timeout",
    "MS",
    "How long the head of a request may take to arrive.",
    DEFAULTS.headTimeoutMs,
    100,
  ),
  bodyTimeoutMs: limit(
    "body-timeout",
    "MS",
    "How long a whole request, or a frame, may take to arrive.",
    DEFAULTS.bodyTimeoutMs,
    100,
  ),
  requestTimeoutMs: limit("request-timeout", "MS", "How long a line waits.", DEFAULTS.requestTimeoutMs, 1),
  idempotencyMs: limit(
    "idempotency-time",
    "MS",
    "How long a request is known by its Idempotency-Key.",
    DEFAULTS.idempotencyMs,
    60_000,
  ),
  nonceGapTimeoutMs: limit(
    "nonce-gap-timeout",
    "MS",
    "How long a transaction waits for the one before it.",
    DEFAULTS.nonceGapTimeoutMs,
    0,
  ),
  maxInFlight: limit(
    "max-in-flight",
    "N",
    "Wrappers of one waiver that may wait for a block.",
    DEFAULTS.maxInFlight,
    1,
  ),
  maxQueueMs: limit(
    "max-queue-time",
    "MS",
    "After how long without a broadcast a submission is given up.",
    DEFAULTS.maxQueueMs,
    1,
  ),
  reorgDepth: limit(
    "reorg-depth",
    "BLOCKS",
    "How deep a reorg may go; 0 where blocks are final at once.",
    DEFAULTS.reorgDepth,
    0,
  ),
  resendAfterMs: limit(
    "resend-after",
    "MS",
    "After how long without a block a wrapper is sent again.",
    DEFAULTS.resendAfterMs,
    1,
  ),
  leaseMs: limit(
    "lease",
    "MS",
    "How long a replica that is silent keeps its lanes from the others.",
    DEFAULTS.leaseMs,
    300,
  ),
  logLevel: {
    flag: "log-level",
    env: "GAS_WAIVER_LOG_LEVEL",
    placeholder: "LEVEL",
    help: `What is logged on standard error: ${LOG_LEVELS.join(", ")}.`,
    initial: "info",
    parse: logLevel,
  },
  waiverKeys: {
    env: "GAS_WAIVER_KEYS",
    help: "The waivers' private keys, as hex, separated by commas; instead of --waiver-key-file.",
    secret: true,
    parse: privateKeys,
  },
  apiKeys: {
    env: "GAS_WAIVER_API_KEYS",
    help: "API keys that may submit beside those of `gas-waiver keys`, separated by commas; instead of --api-keys-file.",
    secret: true,
    parse: apiKeys,
  },
  adminTokens: {
    env: "GAS_WAIVER_ADMIN_TOKEN",
    help: "The token of the operators' API: 32 or more characters. Several, separated by commas, as NAME:TOKEN; the audit has the names.",
    secret: true,
    parse: adminTokens,
  },
  databaseUrl: {
    env: "DATABASE_URL",
    help: "A PostgreSQL to keep submissions in; instead of --data-dir.",
    secret: true,
    parse: url("postgres:", "postgresql:"),
  },
} as const;

export type ServeValues = Values<typeof SERVE_SETTINGS>;

const ALTERNATIVES: readonly Alternatives<keyof typeof SERVE_SETTINGS>[] = [
  { of: ["waiverKeyFile", "waiverKeys"], what: "the list of the waivers' private keys", required: true },
  { of: ["apiKeysFile", "apiKeys"], what: "the list of API keys", required: false },
  { of: ["dataDir", "databaseUrl"], what: "the place of the store", required: false },
];

/** What is given is used. */
function problemsOfPolicy({ policySource, allowedTargets }: Partial<ServeValues>): string[] {
  if (policySource === "registry" && allowedTargets !== undefined) {
    return [
      "--allowed-targets would not be used with --policy-source registry; with both, it narrows the registry",
    ];
  }
  return [];
}

/** Who may create keys must be known. */
function problemsOfAdmin({ adminPort, adminTokens: tokens }: Partial<ServeValues>): string[] {
  if (adminPort === undefined || tokens !== undefined) return [];
  return ["--admin-port is given without a token: set GAS_WAIVER_ADMIN_TOKEN"];
}

/** A whole batch must fit into what one key may send at once, and into its share of the queue (D22). */
function problemsOfLimits({
  rateBurst = DEFAULTS.rateBurst,
  queueCapacity = DEFAULTS.queueCapacity,
  maxBatchSize = DEFAULTS.maxBatchSize,
}: Partial<ServeValues>): string[] {
  const never = `a batch of --max-batch-size (${maxBatchSize}) could never pass`;
  const share = Math.ceil(queueCapacity * DEFAULTS.keyQueueShare);
  return [
    ...(rateBurst < maxBatchSize ? [`--rate-burst is ${rateBurst}: ${never}`] : []),
    ...(share < maxBatchSize
      ? [`--queue-capacity is ${queueCapacity}, of which one API key may have ${share}: ${never}`]
      : []),
  ];
}

/** What the settings must be together. */
export const SERVE_AGREEMENT = {
  alternatives: ALTERNATIVES,
  check: (values: Partial<ServeValues>) => [
    ...problemsOfLimits(values),
    ...problemsOfPolicy(values),
    ...problemsOfAdmin(values),
  ],
};
