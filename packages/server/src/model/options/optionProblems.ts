import {
  bytesToHex,
  INNER_ENCODINGS,
  PUBLISHABLE_PREFIX,
  WAITS,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import { adminTokenProblems } from "./adminToken.js";
import { weaknessOfKey } from "./keyStrength.js";
import { parseAddressBlock } from "./networkAddress.js";
import { GATEWAY_PAID, POLICY_SOURCES, PROXY_HEADERS, type ResolvedOptions } from "./options.js";
import { isOrigin } from "./origins.js";
import { certificateProblems } from "./tlsCertificate.js";

/** The problems of all options that are not numbers. No message repeats a secret. */
export function identityProblems(options: ResolvedOptions): string[] {
  return [
    ...nodeProblems(options),
    ...keyProblems(options),
    ...databaseProblems(options),
    ...schemaProblems(options),
    ...choiceProblems(options),
    ...transportProblems(options),
    ...policyProblems(options),
    ...gatewayProblems(options),
  ];
}

/** The messages leave out the URLs, because a node's URL may hold a secret. */
function nodeProblems({ rpcUrls, rpcWsUrl }: ResolvedOptions): string[] {
  const problems: string[] = [];
  if (rpcUrls.length === 0) problems.push("rpcUrl is empty");
  if (rpcUrls.some((url) => !/^https?:$/.test(protocolOf(url)))) {
    problems.push("rpcUrl is not an http:// or https:// URL");
  }
  if (rpcWsUrl !== undefined && !/^wss?:$/.test(protocolOf(rpcWsUrl))) {
    problems.push("rpcWsUrl is not a ws:// or wss:// URL");
  }
  return problems;
}

function keyProblems({ waivers, apiKeys, publicApiKeys, adminTokens }: ResolvedOptions): string[] {
  const problems = waiverProblems(waivers);
  apiKeys.forEach((key, i) => {
    if (key.startsWith(PUBLISHABLE_PREFIX)) {
      problems.push(
        `apiKeys[${i}] is a publishable key; \`gas-waiver keys create --publishable\` creates those`,
      );
      return;
    }
    const weakness = weaknessOfKey(key);
    if (weakness !== undefined) problems.push(`apiKeys[${i}] ${weakness}`);
  });
  publicApiKeys.forEach((key, i) => {
    if (!/^[\x21-\x7e]{8,256}$/.test(key)) {
      problems.push(`publicApiKeys[${i}] is not 8 to 256 printable characters without spaces`);
    }
  });
  return [...problems, ...adminTokenProblems(adminTokens)];
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

function databaseProblems({ databaseUrl, dataDir }: ResolvedOptions): string[] {
  if (databaseUrl === undefined && dataDir === undefined) {
    return ["neither databaseUrl nor dataDir is set: the service has no place for its store"];
  }
  if (databaseUrl !== undefined && namesSeveralHosts(databaseUrl)) {
    return ["databaseUrl names several hosts; it can name one, which must lead to the primary"];
  }
  if (databaseUrl !== undefined && !/^postgres(ql)?:$/.test(protocolOf(databaseUrl))) {
    return ["databaseUrl is not a postgres:// URL"];
  }
  return [];
}

/** The names of channels end in it, and have 63 characters at most. */
const SCHEMA = /^(?!pg_)[a-z_][a-z0-9_]{0,46}$/;

function schemaProblems({ schema }: ResolvedOptions): string[] {
  if (schema === undefined || SCHEMA.test(schema)) return [];
  return [
    "schema has other characters than lower-case letters, digits and _, or more than 47, or begins with pg_",
  ];
}

function choiceProblems({ corsOrigins, newChain, innerEncoding }: ResolvedOptions): string[] {
  const problems: string[] = [];
  corsOrigins.forEach((entry, i) => {
    if (!isOrigin(entry)) {
      problems.push(
        `corsOrigins[${i}] is ${JSON.stringify(entry)}; it can be an origin such as https://app.example.com, loopback or *`,
      );
    }
  });
  if (newChain !== "refuse" && newChain !== "adopt") {
    problems.push(`newChain is ${JSON.stringify(newChain)}; it can be "refuse" or "adopt"`);
  }
  if (!INNER_ENCODINGS.includes(innerEncoding)) {
    problems.push(`innerEncoding is ${innerEncoding}; it can be ${INNER_ENCODINGS.join(" or ")}`);
  }
  return problems;
}

function transportProblems({ tls, trustedProxies, proxyHeader }: ResolvedOptions): string[] {
  const problems = tls === undefined ? [] : certificateProblems(tls);
  const proxyProblems = trustedProxies.flatMap((proxy, i) =>
    parseAddressBlock(proxy)
      ? []
      : [
          `trustedProxies[${i}] is ${JSON.stringify(proxy)}, which is no address and no block such as 10.0.0.0/8`,
        ],
  );
  problems.push(...proxyProblems);
  if (!PROXY_HEADERS.includes(proxyHeader)) {
    problems.push(`proxyHeader is ${JSON.stringify(proxyHeader)}; it can be ${PROXY_HEADERS.join(" or ")}`);
  }
  return problems;
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

function gatewayProblems({ gatewayWait, gatewayPaid }: ResolvedOptions): string[] {
  const problems: string[] = [];
  if (!WAITS.includes(gatewayWait)) {
    problems.push(`gatewayWait is ${JSON.stringify(gatewayWait)}; it can be ${WAITS.join(" or ")}`);
  }
  if (!GATEWAY_PAID.includes(gatewayPaid)) {
    problems.push(`gatewayPaid is ${JSON.stringify(gatewayPaid)}; it can be ${GATEWAY_PAID.join(" or ")}`);
  }
  return problems;
}

/** A day is summarized when it has been over for a day, and it can be dropped only then. */
const LEAST_RETENTION_MS = 3 * 86_400_000;

/** The options that are whole numbers, with the least value of each. */
const WHOLE_NUMBERS = {
  chainId: 1,
  maxBatchSize: 1,
  maxBodyBytes: 1_024,
  ratePerSecond: 1,
  rateBurst: 1,
  readRatePerSecond: 1,
  readBurst: 1,
  queueCapacity: 1,
  maxSocketRequests: 1,
  socketPingMs: 1,
  maxSockets: 1,
  maxKeySockets: 1,
  maxConnections: 1,
  maxAddressConnections: 1,
  laneConnections: 1,
  acceptConnections: 1,
  readConnections: 1,
  adminConnections: 1,
  maxHeldBytes: 65_536,
  headTimeoutMs: 100,
  bodyTimeoutMs: 100,
  requestTimeoutMs: 1,
  idempotencyMs: 60_000,
  retentionMs: 0,
  nonceGapTimeoutMs: 0,
  maxDataLength: 0,
  maxWrapperBytes: 1_024,
  custodyRatePerSecond: 1,
  custodyTimeoutMs: 1,
  rpcTimeoutMs: 1,
  pollIntervalMs: 1,
  reorgDepth: 0,
  maxInFlight: 1,
  maxQueueMs: 1,
  sweepIntervalMs: 10,
  shutdownMs: 1,
  shutdownDelayMs: 0,
  resendAfterMs: 1,
  leaseMs: 300,
  gatewayRatePerSecond: 1,
  gatewayAddressRatePerSecond: 1,
  gatewayLogBlocks: 1,
  gatewayAnswerBytes: 65_536,
} as const;

/** The problems of the numbers, each alone and against each other. */
export function numberProblems(options: ResolvedOptions): string[] {
  const problems: string[] = [];
  for (const [name, minimum] of Object.entries(WHOLE_NUMBERS)) {
    const value = options[name as keyof typeof WHOLE_NUMBERS];
    if (!Number.isSafeInteger(value) || value < minimum) {
      problems.push(`${name} is ${value}; it must be a whole number of at least ${minimum}`);
    }
  }
  if (options.retentionMs > 0 && options.retentionMs < LEAST_RETENTION_MS) {
    problems.push(
      `retentionMs is ${options.retentionMs}; it must be 0, or at least 3 days (${LEAST_RETENTION_MS})`,
    );
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

/** The driver connects to one host. The form of `libpq` with several hosts is not always a valid URL. */
function namesSeveralHosts(url: string): boolean {
  return /^postgres(ql)?:\/\/(?:[^/@]*@)?[^/?]*,/.test(url);
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : "";
}
