import {
  type AllowedTarget,
  DEFAULT_MAX_BATCH_SIZE,
  DEFAULT_MAX_BODY_BYTES,
  DEFAULT_MAX_DATA_LENGTH,
  DEFAULT_MAX_GAS_LIMIT,
  DEFAULT_MAX_WRAPPER_BYTES,
  DEFAULT_VERIFICATION_GAS,
  INNER_ENCODINGS,
  WAITS,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import type { AdminToken } from "./adminToken.js";
import { choice, flag, gas, limit, option } from "./option.js";
import type { TlsCertificate } from "./tlsCertificate.js";

// Every option of the service is a row of this table: its sentence, type, default, bounds, whether a running service takes
// over another value, and where it counts. The types, checks and defaults of the library follow from the rows, and so do
// the settings of the command line, their help, the file's schema and the reference. `{name}` in a sentence is another option.

/** The sources of policies: the chain's WaiverRegistry, the option `allowedTargets`, or both. */
export const POLICY_SOURCES = ["registry", "config", "both"] as const;
export type PolicySourceKind = (typeof POLICY_SOURCES)[number];

/** The header fields in which a proxy names the address that it got a request from. */
export const PROXY_HEADERS = ["x-forwarded-for", "forwarded"] as const;
export type ProxyHeader = (typeof PROXY_HEADERS)[number];

/** The gateway's ways with transactions that pay for themselves. */
export const GATEWAY_PAID = ["pass", "refuse"] as const;
export type GatewayPaid = (typeof GATEWAY_PAID)[number];

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

const CHAIN = {
  rpcUrl: option<string | readonly string[]>()(
    "JSON-RPC URL of the chain's node; several, separated by commas, in the order of preference.",
    { scope: "chain", required: true, unit: "URL" },
  ),
  rpcWsUrl: option<string>()("WebSocket URL of the chain's node, which announces new blocks at once.", {
    scope: "chain",
    unit: "URL",
    defaultText: "none; the service polls for new blocks",
  }),
  chainId: limit("Id of the chain: 988 mainnet, 2201 testnet and devnet.", undefined, {
    scope: "chain",
    required: true,
    unit: "ID",
  }),
  reorgDepth: limit(
    "Deepest reorg that the service reckons with, in blocks; 0 if blocks are final at once.",
    0,
    {
      scope: "chain",
      unit: "BLOCKS",
      least: 0,
    },
  ),
  skipNodeCheck: flag(
    "Start although `gas-waiver node check` would refuse the nodes, for operators who know better.",
    { scope: "chain" },
  ),
  newChain: choice(
    "Reaction to a node that serves another chain than the store has served: refuse to start, or adopt the new chain and fail the unfinished submissions of the old one, which devnets need. With adopt, a chain that has lost blocks since, as after a restore, takes the store back with it.",
    ["refuse", "adopt"],
    "refuse",
    { scope: "chain", isSetting: false },
  ),
  rpcRatePerSecond: limit(
    "Most HTTP requests a second to each node, a batch counted as one; sends come before reads. Half a second's may go at once. 0 for no limit.",
    0,
    { scope: "chain", least: 0 },
  ),
  rpcTimeoutMs: limit("Longest time that the node may take for an answer, in ms.", 5_000, {
    isSetting: false,
  }),
  pollIntervalMs: limit("Interval at which the service polls for new blocks, in ms.", 200, {
    isSetting: false,
  }),
} as const;

const WAIVERS = {
  waivers: option<readonly WaiverAccount[]>()(
    "Accounts of the waivers (D33), each of which has a lane of its own. `privateKeyWaiver` makes one from a private key.",
    { scope: "chain", required: true, isSetting: false },
  ),
  allowedTargets: option<readonly AllowedTarget[]>()(
    'JSON file of the targets that the service may call, or the JSON itself: [{"address": "0x…" or "*", "selectors": ["0x…"]}].',
    // Without targets the registry is the source of the policies, which the service follows from its start.
    {
      scope: "chain",
      unit: "FILE",
      reload: "while given",
      defaultText: "what the chain's registry permits to the waivers",
    },
  ),
  policySource: option<PolicySourceKind>()(
    "Source of the policy: registry; config ({allowedTargets}); or both, for what both permit.",
    { scope: "chain", unit: "SOURCE", defaultText: "config with {allowedTargets}, otherwise registry" },
  ),
  policyRemedy: option<(target: string) => string>()(
    "Returns the remedy that a refusal names when the waivers may not call a contract, given as 0x hex: `to allow it: …`.",
    { isSetting: false },
  ),
  verificationGas: gas(
    "Gas of each wrapper for unwrapping and verification, at least what the chain's validators count.",
    DEFAULT_VERIFICATION_GAS,
    { scope: "chain" },
  ),
  innerEncoding: choice(
    "Form of a typed InnerTx in a wrapper: envelope, or rlp for an RLP string around it.",
    INNER_ENCODINGS,
    "envelope",
    { scope: "chain", unit: "FORM" },
  ),
} as const;

const STORE = {
  databaseUrl: option<string>()(
    "URL of a PostgreSQL. Without it, the service runs an embedded one in `dataDir`.",
    { scope: "process", isSetting: false },
  ),
  dataDir: option<string>()("Folder of the embedded PostgreSQL; required without `databaseUrl`.", {
    scope: "process",
    isSetting: false,
  }),
  schema: option<string>()("PostgreSQL schema of the tables, which the service makes.", {
    scope: "chain",
    unit: "NAME",
    defaultText: "public; of a network among several gas_waiver_ and its name",
  }),
  requireSynchronousStandby: flag("Refuse a database whose commits wait for no standby."),
  // A whole number of ms in the library, and a text with a unit as a setting.
  retentionMs: limit(
    "Time that outcomes are kept, such as 90d and at least 3d; `forever` keeps them all.",
    90 * 86_400_000,
    {
      unit: "TIME",
      least: 0,
      reload: "always",
      defaultText: "90d",
    },
  ),
  dropExportedOnly: flag(
    "Keep the outcomes of a day that is too old until `gas-waiver export` has written the day.",
    { reload: "always" },
  ),
  laneConnections: limit("Most connections to the database for the lanes.", 6),
  acceptConnections: limit("Most connections to the database for accepting submissions.", 4),
  readConnections: limit("Most connections to the database for reading.", 4),
  adminConnections: limit("Most connections to the database for API keys and maintenance.", 2),
} as const;

const CALLERS = {
  apiKeys: option<readonly string[]>()(
    "API keys of the configuration, beside those of the store: 32 random characters or more.",
    { required: true, reload: "always", isSetting: false },
  ),
  publicApiKeys: option<readonly string[]>()(
    "API keys that everybody may know, for a service that only this machine reaches.",
    { default: [], isSetting: false },
  ),
  corsOrigins: option<readonly string[]>()(
    "Origins whose pages may call the service from a browser, separated by commas; or loopback, or *.",
    { default: [], unit: "ORIGINS", reload: "always", defaultText: "none" },
  ),
  allowedHosts: option<readonly string[]>()(
    "Names in `Host` that the service answers to, any by default; `loopback` for `localhost` and every numeric address. For a service on a developer's machine, where a stranger's page could reach it under a name of its own.",
    { isSetting: false },
  ),
} as const;

const PORTS = {
  tls: option<TlsCertificate>()(
    "Certificate of the service. With it, all ports serve HTTPS, of TLS 1.2 and up.",
    {
      scope: "process",
      isSetting: false,
    },
  ),
  behindProxy: flag(
    "A proxy in front of the service ends TLS, so it may listen on public addresses without. Name it in {trustedProxies}, or all of its clients count as one address.",
    { scope: "process" },
  ),
  trustedProxies: option<readonly string[]>()(
    "Proxies in front of the service, as addresses or CIDR blocks, separated by commas. They alone name a client's address.",
    { default: [], scope: "process", unit: "ADDRESSES", defaultText: "none" },
  ),
  proxyHeader: choice(
    "Header field that the trusted proxies append a client's address to: x-forwarded-for or forwarded.",
    PROXY_HEADERS,
    "x-forwarded-for",
    { scope: "process", unit: "NAME" },
  ),
  adminTokens: option<readonly AdminToken[]>()(
    "Tokens of the operators' API (D25). Without any, there is no such API.",
    { default: [], scope: "process", reload: "always", isSetting: false },
  ),
} as const;

const REQUESTS = {
  maxBatchSize: limit("Most transactions in one request.", DEFAULT_MAX_BATCH_SIZE, {
    reload: "always",
    beyond: "413 `BATCH_TOO_LARGE`",
  }),
  maxBodyBytes: limit("Largest body of a request.", DEFAULT_MAX_BODY_BYTES, {
    least: 1_024,
    beyond: "413 `BODY_TOO_LARGE`; a WebSocket is closed with 1009",
  }),
  maxHeldBytes: limit("Most memory for the bodies and frames of open requests.", 268_435_456, {
    least: 65_536,
    beyond: "503 `BODIES_AT_CAPACITY`; a WebSocket is closed with 1013",
  }),
  maxWrapperBytes: limit(
    "Largest wrapper, which counts the whole transaction; geth takes no more. The longest calldata follows from it.",
    DEFAULT_MAX_WRAPPER_BYTES,
    { scope: "chain", least: 1_024, beyond: "line `TRANSACTION_TOO_LARGE`" },
  ),
  maxDataLength: limit(
    "Longest calldata of an InnerTx, in bytes (D3), such that a wrapper fits {maxWrapperBytes}.",
    DEFAULT_MAX_DATA_LENGTH,
    { least: 0, isSetting: false, beyond: "line `DATA_TOO_LONG`" },
  ),
  maxGasLimit: gas("Highest gas limit of an InnerTx (D3).", DEFAULT_MAX_GAS_LIMIT, {
    isSetting: false,
    beyond: "line `GAS_LIMIT_TOO_HIGH`",
  }),
  idempotencyMs: limit(
    "Time that the service remembers a request by its Idempotency-Key, in ms.",
    86_400_000,
    {
      least: 60_000,
      beyond: "a new request",
    },
  ),
} as const;

const RATES = {
  ratePerSecond: limit("Most transactions a second of each API key, on average.", 100, {
    reload: "always",
    beyond: "429 `RATE_EXCEEDED`, with `Retry-After`",
  }),
  rateBurst: limit("Most transactions at once of an API key after a pause.", 200, {
    reload: "always",
    beyond: "429 `RATE_EXCEEDED`, with `Retry-After`",
  }),
  readRatePerSecond: limit(
    "Most reads a second of each API key: records, lists, watch, policy. A page counts one more for each 20 records.",
    200,
    { reload: "always", beyond: "429 `RATE_EXCEEDED`, with `Retry-After`" },
  ),
  readBurst: limit("Most reads at once of an API key after a pause.", 400, {
    reload: "always",
    beyond: "429 `RATE_EXCEEDED`, with `Retry-After`",
  }),
  queueCapacity: limit("Most submissions that wait for their broadcast.", 10_000, {
    reload: "always",
    beyond: "503 `QUEUE_AT_CAPACITY`",
  }),
  keyQueueShare: option<number>()(
    "Share of {queueCapacity} and {maxHeldBytes} that one API key may use, above 0 and at most 1.",
    { default: 0.5, isSetting: false, beyond: "503 `KEY_SHARE_EXHAUSTED`, `BODIES_AT_CAPACITY`" },
  ),
  maxInFlight: limit(
    "Most wrappers of one waiver that wait for a block. One of more than 300,000 gas counts for each 150,000.",
    1_000,
    {
      scope: "chain",
      reload: "always",
      beyond: "they wait",
    },
  ),
  custodyRatePerSecond: limit(
    "Most signatures a second that a custody outside of the process is asked for, for each waiver; where it throttles, fewer.",
    300,
    { scope: "chain", beyond: "they wait" },
  ),
} as const;

const GATEWAY = {
  gatewayWait: choice(
    "When the gateway answers eth_sendRawTransaction: broadcast, once the node has the transaction, or included, once a block has it.",
    WAITS,
    "broadcast",
    { unit: "WHEN", reload: "always" },
  ),
  gatewayPaid: choice(
    "What the gateway does with a transaction that pays for itself: pass it to the node, or refuse it.",
    GATEWAY_PAID,
    "refuse",
    { unit: "WHAT", reload: "always" },
  ),
  gatewayRatePerSecond: limit(
    "Most reads a second of each API key on the gateway of one replica; twice as many at once.",
    2_000,
    { reload: "always", beyond: "429, and `-32005` in JSON-RPC" },
  ),
  gatewayAddressRatePerSecond: limit("The same for each address under an API key.", 200, {
    reload: "always",
    beyond: "429, and `-32005` in JSON-RPC",
  }),
  gatewayLogBlocks: limit("Most blocks that one eth_getLogs searches.", 10_000, {
    reload: "always",
    beyond: "`-32602` in JSON-RPC",
  }),
  gatewayAnswerBytes: limit(
    "Largest answer of the gateway, passed on from a node or to a batch.",
    10_485_760,
    {
      least: 65_536,
      beyond: "`-32000` in JSON-RPC",
    },
  ),
} as const;

const CONNECTIONS = {
  maxConnections: limit("Most open connections, WebSockets included.", 15_000, {
    scope: "process",
    beyond:
      "takes the place of the oldest without a good key, else of one of a publishable key; closed at once if there is none",
  }),
  maxAddressConnections: limit(
    "Most open connections of one address, or of one IPv6 network of 64 bits; behind {trustedProxies}, WebSockets of one client.",
    5_000,
    {
      scope: "process",
      beyond:
        "the same, among those of the address; a WebSocket behind a proxy gets 503 `SOCKETS_AT_CAPACITY`",
    },
  ),
  maxSockets: limit("Most open WebSockets.", 10_000, { beyond: "503 `SOCKETS_AT_CAPACITY`" }),
  maxKeySockets: limit("Most open WebSockets of one API key.", 5_000, {
    beyond: "503 `SOCKETS_AT_CAPACITY`",
  }),
  maxSocketRequests: limit("Most requests in flight on one WebSocket.", 100, {
    beyond: "error frame `CONNECTION_FULL`",
  }),
  socketPingMs: limit("Interval between pings on a WebSocket (D23), in ms.", 30_000, { isSetting: false }),
} as const;

const TIMES = {
  headTimeoutMs: limit("Longest time for the head of a request to arrive, in ms.", 10_000, {
    scope: "process",
    least: 100,
    beyond: "408 `REQUEST_TOO_SLOW`, closed",
  }),
  bodyTimeoutMs: limit("Longest time for a whole request or frame to arrive, in ms.", 60_000, {
    scope: "process",
    least: 100,
    beyond: "408 `REQUEST_TOO_SLOW`, closed; a WebSocket is closed with 1008",
  }),
  requestTimeoutMs: limit("Longest time that a result line waits for its transaction, in ms.", 30_000, {
    scope: "process",
    beyond: "line `TIMEOUT`; the work goes on",
  }),
  nonceGapTimeoutMs: limit(
    "Longest time that a transaction waits for one with an earlier nonce, in ms.",
    10_000,
    {
      scope: "chain",
      least: 0,
      reload: "always",
      beyond: "line `NONCE_GAP`",
    },
  ),
  custodyTimeoutMs: limit("Time that such a custody may take for a signature, in ms.", 5_000, {
    scope: "chain",
  }),
  maxQueueMs: limit("Time after which a submission without a broadcast fails, in ms.", 600_000, {
    scope: "chain",
    reload: "always",
    beyond: "`NOT_BROADCAST`, for good",
  }),
  resendAfterMs: limit("Time after which a wrapper without a block is sent again, in ms.", 5_000, {
    scope: "chain",
    reload: "always",
  }),
  leaseMs: limit("Time after which other replicas take over the lanes of a silent one, in ms.", 3_000, {
    least: 300,
    beyond: "another replica takes them",
  }),
  shutdownDelayMs: limit(
    "Time for which the service goes on serving after SIGTERM while readiness is 503, so that proxies notice, in ms.",
    0,
    { scope: "process", least: 0 },
  ),
  shutdownMs: limit(
    "Longest time that `close` waits for open result lines, nodes and custodies, in ms. Then it ends those lines.",
    3_000,
    { scope: "process", isSetting: false },
  ),
  sweepIntervalMs: limit(
    "Interval at which the service compares the unfinished submissions with the chain, in ms.",
    60_000,
    { least: 10, isSetting: false },
  ),
} as const;

const LOG = {
  logLevel: choice(
    `Lowest level of the log on standard error: ${LOG_LEVELS.join(", ")}.`,
    LOG_LEVELS,
    "info",
    { scope: "process", unit: "LEVEL", reload: "always" },
  ),
} as const;

/** The options by subject, in the order of the help and the reference. */
export const OPTION_SUBJECTS = {
  "The chain": CHAIN,
  "The waivers": WAIVERS,
  "The store": STORE,
  "Who may call": CALLERS,
  "Ports and addresses": PORTS,
  Requests: REQUESTS,
  "Rates and queues": RATES,
  "The gateway": GATEWAY,
  Connections: CONNECTIONS,
  Times: TIMES,
  "The log": LOG,
} as const;

/** All options of the service. A name that ends in `Ms` is in milliseconds. */
export const OPTIONS = {
  ...CHAIN,
  ...WAIVERS,
  ...STORE,
  ...CALLERS,
  ...PORTS,
  ...REQUESTS,
  ...RATES,
  ...GATEWAY,
  ...CONNECTIONS,
  ...TIMES,
  ...LOG,
} as const;

export type Options = typeof OPTIONS;
