import {
  type AllowedTarget,
  bytesToHex,
  DEFAULT_MAX_BATCH_SIZE,
  DEFAULT_MAX_BODY_BYTES,
  DEFAULT_MAX_DATA_LENGTH,
  DEFAULT_MAX_GAS_LIMIT,
  DEFAULT_VERIFICATION_GAS,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import type { Level } from "pino";
import { type AdminToken, adminTokenProblems } from "./adminToken.js";
import { InvalidOptionsError } from "./errors.js";
import { isOrigin } from "./origins.js";

/** Where policies come from. */
export const POLICY_SOURCES = ["registry", "config", "both"] as const;
export type PolicySourceKind = (typeof POLICY_SOURCES)[number];

/** What the service is made with. Times are milliseconds. Defaults: {@link DEFAULTS} (D3, D5, D20, D22). */
export interface ServerOptions {
  /** The network's chain id: 988 mainnet, 2201 testnet and devnet (D27). */
  readonly chainId: number;
  /** The chain's JSON-RPC over HTTP: one node, or several in the order of preference. */
  readonly rpcUrl: string | readonly string[];
  /** The chain's JSON-RPC over WebSocket: new blocks are heard of at once. Without it they are asked for. */
  readonly rpcWsUrl?: string;
  /**
   * The waivers' accounts (D33); one lane each. `privateKeyWaiver` makes one of a private key; a key management service
   * or a device implements `WaiverAccount`.
   */
  readonly waivers: readonly WaiverAccount[];
  /** Bearer keys that may submit, beside those of the store; none of them changes while the service runs. */
  readonly apiKeys: readonly string[];
  /** Who may use the operators' API (D25); none: there is none. */
  readonly adminTokens?: readonly AdminToken[];
  /** What the waivers may send (D4), where the chain's registry does not say it alone. */
  readonly allowedTargets?: readonly AllowedTarget[];
  /**
   * Who says what each waiver may send: the chain's WaiverRegistry (`registry`), `allowedTargets` (`config`), or
   * `both`, which narrow each other. Unless set: `config` if there are `allowedTargets`, otherwise `registry`.
   */
  readonly policySource?: PolicySourceKind;
  /** A PostgreSQL of one's own; without it the service runs an embedded one under `dataDir`. */
  readonly databaseUrl?: string;
  readonly dataDir?: string;
  /**
   * What to do when the node's chain is not the one that the store knows: `refuse` to start, or `adopt` the new
   * chain and end what was under way on the old one (for devnets, which begin anew).
   */
  readonly newChain?: "refuse" | "adopt";
  /**
   * Whose pages may call the service from a browser: origins such as `https://app.example.com`, `loopback` for any on
   * the browser's own machine, or `*` for all.
   */
  readonly corsOrigins?: readonly string[];
  readonly maxBatchSize?: number;
  readonly maxBodyBytes?: number;
  /** Transactions a second for one API key, and how many at once after a pause. */
  readonly ratePerSecond?: number;
  readonly rateBurst?: number;
  /** Submissions that wait for a broadcast, and the share of it that one API key may hold (0 to 1). */
  readonly queueCapacity?: number;
  readonly keyQueueShare?: number;
  /** Requests that one WebSocket may have under way, and how often the service asks for a sign of life (D23). */
  readonly maxSocketRequests?: number;
  readonly socketPingMs?: number;
  /** Open WebSockets, in all and of one API key. */
  readonly maxSockets?: number;
  readonly maxKeySockets?: number;
  /** Open connections of all kinds; must be below what the system lets the process have (`ulimit -n`). */
  readonly maxConnections?: number;
  /** Bytes of bodies and frames that are held at once; one API key may hold its share of the queue of them. */
  readonly maxHeldBytes?: number;
  /** How long the head of a request may take to arrive, and a whole request or frame. */
  readonly headTimeoutMs?: number;
  readonly bodyTimeoutMs?: number;
  /** How long a line waits for its result (D17). */
  readonly requestTimeoutMs?: number;
  /** How long a request is known by its `Idempotency-Key` (D18). */
  readonly idempotencyMs?: number;
  /** How long a transaction waits for the one before it (D20). */
  readonly nonceGapTimeoutMs?: number;
  readonly maxGasLimit?: bigint;
  readonly maxDataLength?: number;
  readonly verificationGas?: bigint;
  /** How long one answer of the node may take. */
  readonly rpcTimeoutMs?: number;
  /** How often the watcher asks for a new block. */
  readonly pollIntervalMs?: number;
  /** Blocks on top of an inclusion until it counts as final: as deep as a reorg may go. 0 where blocks are final at once. */
  readonly reorgDepth?: number;
  /** Wrappers of one waiver that may wait for a block at once. */
  readonly maxInFlight?: number;
  /** After how long without a broadcast a submission is given up for good. */
  readonly maxQueueMs?: number;
  /** How often the store is held against the chain. */
  readonly sweepIntervalMs?: number;
  /** How long the end may take: for the lines that wait and the wrappers that are signed. */
  readonly shutdownMs?: number;
  /** After how long without a block a broadcast wrapper is sent again. */
  readonly resendAfterMs?: number;
  /** How long a lane stays its owner's without a sign of life. */
  readonly leaseMs?: number;
  readonly logLevel?: Level | "silent";
}

export const DEFAULTS = {
  adminTokens: [] as readonly AdminToken[],
  newChain: "refuse",
  corsOrigins: [] as readonly string[],
  maxBatchSize: DEFAULT_MAX_BATCH_SIZE,
  maxBodyBytes: DEFAULT_MAX_BODY_BYTES,
  ratePerSecond: 100,
  rateBurst: 200,
  queueCapacity: 10_000,
  keyQueueShare: 0.5,
  maxSocketRequests: 100,
  socketPingMs: 30_000,
  maxSockets: 10_000,
  maxKeySockets: 5_000,
  maxConnections: 15_000,
  maxHeldBytes: 268_435_456,
  headTimeoutMs: 10_000,
  bodyTimeoutMs: 60_000,
  requestTimeoutMs: 30_000,
  idempotencyMs: 86_400_000,
  nonceGapTimeoutMs: 10_000,
  maxGasLimit: DEFAULT_MAX_GAS_LIMIT,
  maxDataLength: DEFAULT_MAX_DATA_LENGTH,
  verificationGas: DEFAULT_VERIFICATION_GAS,
  rpcTimeoutMs: 5_000,
  pollIntervalMs: 200,
  reorgDepth: 0,
  maxInFlight: 1_000,
  maxQueueMs: 600_000,
  sweepIntervalMs: 60_000,
  shutdownMs: 3_000,
  resendAfterMs: 5_000,
  leaseMs: 3_000,
  logLevel: "info",
} as const satisfies Partial<ServerOptions>;

type Defaulted = { readonly [K in keyof typeof DEFAULTS]: NonNullable<ServerOptions[K]> };
export type ResolvedOptions = Omit<ServerOptions, keyof Defaulted | "rpcUrl" | "policySource"> &
  Defaulted & { readonly rpcUrls: readonly string[]; readonly policySource: PolicySourceKind };

/**
 * Fills in the defaults and checks everything.
 * @throws {@link InvalidOptionsError} with every problem. Secrets are never part of a message.
 */
export function resolveOptions(options: ServerOptions): ResolvedOptions {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const { rpcUrl, ...others } = { ...DEFAULTS, ...given } as ServerOptions;
  const rpcUrls = typeof rpcUrl === "string" ? [rpcUrl] : rpcUrl;
  const policySource = others.policySource ?? (others.allowedTargets ? "config" : "registry");
  const resolved = { ...others, rpcUrls, policySource } as ResolvedOptions;
  const problems = [...identityProblems(resolved), ...numberProblems(resolved)];
  if (problems.length > 0) throw new InvalidOptionsError(problems);
  return resolved;
}

function identityProblems(options: ResolvedOptions): string[] {
  const problems: string[] = [];
  // Not the values: a node's URL may hold a secret.
  if (options.rpcUrls.length === 0) problems.push("rpcUrl is empty");
  if (options.rpcUrls.some((url) => !/^https?:$/.test(protocolOf(url)))) {
    problems.push("rpcUrl is not an http:// or https:// URL");
  }
  if (options.rpcWsUrl !== undefined && !/^wss?:$/.test(protocolOf(options.rpcWsUrl))) {
    problems.push("rpcWsUrl is not a ws:// or wss:// URL");
  }
  problems.push(...waiverProblems(options.waivers));
  options.apiKeys.forEach((key, i) => {
    if (!/^[\x21-\x7e]{8,256}$/.test(key)) {
      problems.push(`apiKeys[${i}] is not 8 to 256 printable characters without spaces`);
    }
  });
  problems.push(...adminTokenProblems(options.adminTokens));
  if (options.databaseUrl === undefined && options.dataDir === undefined) {
    problems.push("neither databaseUrl nor dataDir is set: the service has no place for its store");
  }
  if (options.databaseUrl !== undefined && !/^postgres(ql)?:$/.test(protocolOf(options.databaseUrl))) {
    problems.push("databaseUrl is not a postgres:// URL");
  }
  options.corsOrigins.forEach((entry, i) => {
    if (!isOrigin(entry)) {
      problems.push(
        `corsOrigins[${i}] is ${JSON.stringify(entry)}; it can be an origin such as https://app.example.com, loopback or *`,
      );
    }
  });
  if (options.newChain !== "refuse" && options.newChain !== "adopt") {
    problems.push(`newChain is ${JSON.stringify(options.newChain)}; it can be "refuse" or "adopt"`);
  }
  return [...problems, ...policyProblems(options)];
}

function waiverProblems(waivers: readonly WaiverAccount[]): string[] {
  if (waivers.length === 0) return ["waivers is empty: nothing could be wrapped"];
  const problems = waivers.flatMap((waiver, i) =>
    isWaiverAccount(waiver) ? [] : [`waivers[${i}] is not an account with an address of 20 bytes and sign()`],
  );
  const addresses = new Set(waivers.filter(isWaiverAccount).map(({ address }) => bytesToHex(address)));
  if (addresses.size + problems.length < waivers.length) problems.push("waivers holds the same key twice");
  return problems;
}

function isWaiverAccount(value: WaiverAccount): boolean {
  const { address, sign } = value;
  return address instanceof Uint8Array && address.length === 20 && typeof sign === "function";
}

function policyProblems({ policySource, allowedTargets }: ResolvedOptions): string[] {
  if (!POLICY_SOURCES.includes(policySource)) {
    return [`policySource is ${JSON.stringify(policySource)}; it can be ${POLICY_SOURCES.join(", ")}`];
  }
  if (policySource === "registry" && allowedTargets !== undefined) {
    return ["allowedTargets would not be used, since policySource is registry; with both, they narrow it"];
  }
  if (policySource !== "registry" && allowedTargets === undefined) {
    return [`policySource is ${policySource}, and there are no allowedTargets`];
  }
  return [];
}

const WHOLE_NUMBERS = {
  chainId: 1,
  maxBatchSize: 1,
  maxBodyBytes: 1_024,
  ratePerSecond: 1,
  rateBurst: 1,
  queueCapacity: 1,
  maxSocketRequests: 1,
  socketPingMs: 1,
  maxSockets: 1,
  maxKeySockets: 1,
  maxConnections: 1,
  maxHeldBytes: 65_536,
  headTimeoutMs: 100,
  bodyTimeoutMs: 100,
  requestTimeoutMs: 1,
  idempotencyMs: 60_000,
  nonceGapTimeoutMs: 0,
  maxDataLength: 0,
  rpcTimeoutMs: 1,
  pollIntervalMs: 1,
  reorgDepth: 0,
  maxInFlight: 1,
  maxQueueMs: 1,
  sweepIntervalMs: 10,
  shutdownMs: 1,
  resendAfterMs: 1,
  leaseMs: 300,
} as const;

function numberProblems(options: ResolvedOptions): string[] {
  const problems: string[] = [];
  for (const [name, least] of Object.entries(WHOLE_NUMBERS)) {
    const value = options[name as keyof typeof WHOLE_NUMBERS];
    if (!Number.isSafeInteger(value) || value < least) {
      problems.push(`${name} is ${value}; it must be a whole number of at least ${least}`);
    }
  }
  if (!(options.keyQueueShare > 0 && options.keyQueueShare <= 1)) {
    problems.push(`keyQueueShare is ${options.keyQueueShare}; it must be above 0 and at most 1`);
  }
  if (options.headTimeoutMs > options.bodyTimeoutMs) {
    problems.push(
      `headTimeoutMs is ${options.headTimeoutMs}, longer than a whole request may take (bodyTimeoutMs ${options.bodyTimeoutMs})`,
    );
  }
  if (options.maxBodyBytes > options.maxHeldBytes) {
    problems.push(
      `maxBodyBytes is ${options.maxBodyBytes}: such a body could never pass, since maxHeldBytes is ${options.maxHeldBytes}`,
    );
  }
  if (options.maxGasLimit < 21_000n)
    problems.push(`maxGasLimit is ${options.maxGasLimit}; no transaction fits`);
  if (options.verificationGas < 0n) problems.push(`verificationGas is ${options.verificationGas}, below 0`);
  if (options.rateBurst < options.maxBatchSize) {
    problems.push(
      `rateBurst is ${options.rateBurst}: a batch of maxBatchSize (${options.maxBatchSize}) could never pass`,
    );
  }
  return problems;
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : "";
}
