import type { AllowedTarget, InnerEncoding, Wait, WaiverAccount } from "@gas-waiver/protocol";
import type { Level } from "pino";
import type { AdminToken } from "./adminToken.js";
import type { DEFAULTS } from "./defaults.js";
import type { TlsCertificate } from "./tlsCertificate.js";

/** The sources of policies: the chain's WaiverRegistry, the option `allowedTargets`, or both. */
export const POLICY_SOURCES = ["registry", "config", "both"] as const;
export type PolicySourceKind = (typeof POLICY_SOURCES)[number];

/** The header fields in which a proxy names the address that it got a request from. */
export const PROXY_HEADERS = ["x-forwarded-for", "forwarded"] as const;
export type ProxyHeader = (typeof PROXY_HEADERS)[number];

/** The gateway's ways with transactions that pay for themselves. */
export const GATEWAY_PAID = ["pass", "refuse"] as const;
export type GatewayPaid = (typeof GATEWAY_PAID)[number];

/** The options of the service. A name that ends in `Ms` is in milliseconds. The defaults are {@link DEFAULTS}. */
export interface ServerOptions {
  /** The chain id of the network: 988 is mainnet, 2201 testnet and the devnet (D27). */
  readonly chainId: number;
  /**
   * The URL of the chain's JSON-RPC over HTTP. Several URLs are nodes of the same chain in the order of preference: if
   * one fails, the service uses the next.
   */
  readonly rpcUrl: string | readonly string[];
  /** The URL of the chain's JSON-RPC over WebSocket, which announces new blocks. Without it, the service polls. */
  readonly rpcWsUrl?: string;
  /**
   * The accounts of the waivers (D33). Each has a lane of its own. `privateKeyWaiver` makes an account from a private key;
   * a key management service or a device implements `WaiverAccount`.
   */
  readonly waivers: readonly WaiverAccount[];
  /**
   * API keys that the configuration sets, beside those of the store: 32 random characters or more.
   */
  readonly apiKeys: readonly string[];
  /**
   * API keys that everybody may know, for a service that only this machine reaches. They need not be hard to guess.
   * Default: none.
   */
  readonly publicApiKeys?: readonly string[];
  /** The tokens of the operators' API (D25). Default: none, and no such API. */
  readonly adminTokens?: readonly AdminToken[];
  /** The calls that the waivers may carry (D4). Required unless `policySource` is `registry`. */
  readonly allowedTargets?: readonly AllowedTarget[];
  /**
   * The source of the policies: `registry`, `config` (`allowedTargets`), or `both`, which permits what both permit.
   * Default: `config` if `allowedTargets` is set, else `registry`.
   */
  readonly policySource?: PolicySourceKind;
  /**
   * Returns the remedy that a refusal names when the waivers may not call a contract, for a service whose users can change that:
   * `to allow it: …`. The contract comes as 0x hex. Default: none.
   */
  readonly policyRemedy?: (target: string) => string;
  /** The URL of a PostgreSQL. Without it, the service runs an embedded PostgreSQL under `dataDir`. */
  readonly databaseUrl?: string;
  /** The folder of the embedded PostgreSQL. Required without `databaseUrl`. */
  readonly dataDir?: string;
  /**
   * The PostgreSQL schema of the service's tables. The service makes it. Services and networks in one database need one each.
   * Default: the first of the role's search path, which is `public`.
   */
  readonly schema?: string;
  /** The maximum number of connections to the database for the lanes. Default: 6. */
  readonly laneConnections?: number;
  /** The maximum number of connections to the database for accepting submissions. Default: 4. */
  readonly acceptConnections?: number;
  /** The maximum number of connections to the database for reading. Default: 4. */
  readonly readConnections?: number;
  /** The maximum number of connections to the database for API keys and maintenance. Default: 2. */
  readonly adminConnections?: number;
  /**
   * Refuses to start on a database whose commits wait for no standby, and accepts nothing while they wait for none.
   * Default: false.
   */
  readonly requireSynchronousStandby?: boolean;
  /**
   * The time that outcomes are kept after the day in which their submissions came (D31): at least 3 days, or 0 for ever.
   * Default: 90 days.
   */
  readonly retentionMs?: number;
  /** Keeps the outcomes of an old day until the day has been exported. Default: false. */
  readonly dropExportedOnly?: boolean;
  /**
   * The reaction to a node that serves another chain than the store has served: `refuse` to start, or `adopt` the
   * new chain and fail the unfinished submissions of the old one, which devnets need. With `adopt`, a chain that has lost
   * blocks since, as after a restore, takes the store back with it. Default: `refuse`.
   */
  readonly newChain?: "refuse" | "adopt";
  /**
   * Skips the check of the nodes at the start, which refuses to start on nodes that would break what the service
   * guarantees. For operators who know better. Default: false.
   */
  readonly skipNodeCheck?: boolean;
  /**
   * The origins whose pages may call the service from a browser, such as `https://app.example.com`; `loopback` for every
   * origin of the browser's own machine, `*` for every origin. Default: none.
   */
  readonly corsOrigins?: readonly string[];
  /**
   * The names in `Host` that the service answers to; `loopback` for `localhost` and every numeric address. For a service
   * on a developer's machine, where a stranger's page could reach it under a name of its own. Default: any.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * The certificate of the service. With it, all ports serve HTTPS, of TLS 1.2 and up. {@link Server.setCertificate}
   * replaces it.
   */
  readonly tls?: TlsCertificate;
  /**
   * Lets the service listen on addresses that other machines reach without TLS, because a proxy ends it. Name the proxy in
   * `trustedProxies`, or all of its clients count as one address. Default: false.
   */
  readonly behindProxy?: boolean;
  /**
   * The proxies in front of the service: addresses or CIDR blocks, such as `10.0.0.0/8`. From them, and from nobody else,
   * the service takes a client's address out of `proxyHeader`. Default: none.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * The header field that the trusted proxies set or append to. The service reads no other one, because a proxy passes it on
   * as the client sent it. Default: `x-forwarded-for`.
   */
  readonly proxyHeader?: ProxyHeader;
  /** The maximum number of transactions in a request. Default: 100. */
  readonly maxBatchSize?: number;
  /** The maximum size of a request's body, in bytes. Default: 32 MiB. */
  readonly maxBodyBytes?: number;
  /** The transactions per second that an API key may submit, on average. Default: 100. */
  readonly ratePerSecond?: number;
  /** The transactions that an API key may submit at once after a pause; at least `maxBatchSize`. Default: 200. */
  readonly rateBurst?: number;
  /** The reads per second of an API key on one replica, on average: records, lists, `watch`, policy. Default: 200. */
  readonly readRatePerSecond?: number;
  /** The reads of an API key at once after a pause. Default: 400. */
  readonly readBurst?: number;
  /** The maximum number of submissions that wait for their broadcast. Default: 10,000. */
  readonly queueCapacity?: number;
  /** The share of `queueCapacity` and of `maxHeldBytes` that one API key may use, above 0 and at most 1. Default: 0.5. */
  readonly keyQueueShare?: number;
  /** The maximum number of requests in flight on one WebSocket (D23). Default: 100. */
  readonly maxSocketRequests?: number;
  /** The interval between pings on a WebSocket (D23). Default: 30 s. */
  readonly socketPingMs?: number;
  /** The maximum number of open WebSockets. Default: 10,000. */
  readonly maxSockets?: number;
  /** The maximum number of open WebSockets of one API key. Default: 5,000. */
  readonly maxKeySockets?: number;
  /** The maximum number of open connections. It must be below the process's limit of open files (`ulimit -n`). Default: 15,000. */
  readonly maxConnections?: number;
  /**
   * The maximum number of open connections of one address, or of one IPv6 network of 64 bits. Behind `trustedProxies` it counts
   * a client's WebSockets; the proxies' own connections have no such limit. Default: 5,000.
   */
  readonly maxAddressConnections?: number;
  /** The maximum memory for the bodies and frames of open requests, in bytes. Default: 256 MiB. */
  readonly maxHeldBytes?: number;
  /** The maximum time in which the head of a request arrives. Default: 10 s. */
  readonly headTimeoutMs?: number;
  /** The maximum time in which a whole request or frame arrives. Default: 60 s. */
  readonly bodyTimeoutMs?: number;
  /** The maximum time that a result line waits for its result (D17). Default: 30 s. */
  readonly requestTimeoutMs?: number;
  /** The time that the service remembers a request by its `Idempotency-Key` (D18). Default: 24 h. */
  readonly idempotencyMs?: number;
  /** The maximum time that a transaction waits for the earlier nonce of its sender (D20). Default: 10 s. */
  readonly nonceGapTimeoutMs?: number;
  /** The maximum gas limit of an InnerTx, in gas (D3). Default: 10,000,000. */
  readonly maxGasLimit?: bigint;
  /** The maximum calldata of an InnerTx, in bytes (D3). Default: 130,786, so that a wrapper fits `maxWrapperBytes`. */
  readonly maxDataLength?: number;
  /**
   * The maximum size of a wrapper, in bytes. It counts the whole InnerTx, with its access list. Default: 131,072, the most
   * that geth takes. Raise it only if every node of the chain takes more.
   */
  readonly maxWrapperBytes?: number;
  /** The gas that each wrapper has for the validators' own work (D5). Default: 50,000. */
  readonly verificationGas?: bigint;
  /**
   * The form of a typed InnerTx in a wrapper's data (D1): the signed `envelope`, or an `rlp` string around it. Validators
   * read both. Default: `envelope`.
   */
  readonly innerEncoding?: InnerEncoding;
  /**
   * The signatures per second that a custody outside of this process is asked for at most, for each waiver. Where it throttles,
   * the service asks less often. Default: 300.
   */
  readonly custodyRatePerSecond?: number;
  /** The maximum time that such a custody may take for a signature. Default: 5 s. */
  readonly custodyTimeoutMs?: number;
  /** The maximum time that the node may take for an answer. Default: 5 s. */
  readonly rpcTimeoutMs?: number;
  /** The interval at which the service polls for new blocks. Default: 200 ms. */
  readonly pollIntervalMs?: number;
  /** The depth of the deepest reorg that the chain can have, in blocks. 0: blocks are final at once. Default: 0. */
  readonly reorgDepth?: number;
  /** The maximum number of wrappers of one waiver that wait for a block. Default: 1,000. */
  readonly maxInFlight?: number;
  /** The time after which a submission without a broadcast fails. Default: 10 min. */
  readonly maxQueueMs?: number;
  /** The interval at which the service compares the unfinished submissions with the chain. Default: 60 s. */
  readonly sweepIntervalMs?: number;
  /** The maximum time that `close` waits for open result lines, nodes and custodies. Then it ends those lines. Default: 3 s. */
  readonly shutdownMs?: number;
  /**
   * The time for which `close` goes on serving before it refuses anything. Readiness is 503 meanwhile, so that proxies send new
   * requests elsewhere. Default: 0.
   */
  readonly shutdownDelayMs?: number;
  /** The time after which a broadcast wrapper that is in no block is sent again. Default: 5 s. */
  readonly resendAfterMs?: number;
  /** The length of a lane's lease: another replica takes over the lane of a silent one after this time. Default: 3 s. */
  readonly leaseMs?: number;
  /** The moment at which the gateway answers `eth_sendRawTransaction`: the node has the transaction, or a block has it. Default: `broadcast`. */
  readonly gatewayWait?: Wait;
  /** The fate of a transaction on the gateway that pays for itself: `pass` sends it to the node as it is. Default: `refuse`. */
  readonly gatewayPaid?: GatewayPaid;
  /** The reads per second of an API key on the gateway of one replica, on average. Twice as many may come at once. Default: 2,000. */
  readonly gatewayRatePerSecond?: number;
  /** The same for each address under an API key. Default: 200. */
  readonly gatewayAddressRatePerSecond?: number;
  /** The maximum number of blocks that one `eth_getLogs` searches. Default: 10,000. */
  readonly gatewayLogBlocks?: number;
  /** The maximum size of a node's answer that the gateway passes on, in bytes. Default: 10 MiB. */
  readonly gatewayAnswerBytes?: number;
  /** The lowest level of the log on standard error. Default: `info`. */
  readonly logLevel?: Level | "silent";
}

type Defaulted = { readonly [K in keyof typeof DEFAULTS]: NonNullable<ServerOptions[K]> };

/** The options with all defaults filled in. Those of `RELOADABLE_OPTIONS` may change while a service runs, and are read at each use. */
export type ResolvedOptions = Omit<ServerOptions, keyof Defaulted | "rpcUrl" | "policySource"> &
  Defaulted & { readonly rpcUrls: readonly string[]; readonly policySource: PolicySourceKind };
