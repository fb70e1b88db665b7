import { bytesToHex, EMPTY_SELECTORS, PUBLISHABLE_PREFIX, type WaiverAccount } from "@gas-waiver/protocol";
import { adminTokenProblems } from "./adminToken.js";
import { weaknessOfKey } from "./keyStrength.js";
import { parseAddressBlock } from "./networkAddress.js";
import { type Option, withNames } from "./option.js";
import type { ResolvedOptions } from "./options.js";
import { OPTIONS, POLICY_SOURCES } from "./optionTable.js";
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

function choiceProblems(options: ResolvedOptions): string[] {
  const ofOrigins = options.corsOrigins.flatMap((entry, i) =>
    isOrigin(entry)
      ? []
      : `corsOrigins[${i}] is ${JSON.stringify(entry)}; it can be an origin such as https://app.example.com, loopback or *`,
  );
  const ofChoices = rowsWithValues(options).flatMap(([name, { form }, value]) =>
    form.kind !== "choice" || form.choices.some((choice) => choice === value)
      ? []
      : `${name} is ${typeof value === "bigint" ? value : JSON.stringify(value)}; it can be ${form.choices.join(" or ")}`,
  );
  return [...ofOrigins, ...ofChoices];
}

/** The rows of the table with what the options have for each. */
function rowsWithValues(options: ResolvedOptions): [string, Option<unknown>, unknown][] {
  const values: Readonly<Record<string, unknown>> = { ...options };
  return Object.entries<Option<unknown>>(OPTIONS).map(([name, row]) => [name, row, values[name]]);
}

function transportProblems({ tls, trustedProxies }: ResolvedOptions): string[] {
  const problems = tls === undefined ? [] : certificateProblems(tls);
  const proxyProblems = trustedProxies.flatMap((proxy, i) =>
    parseAddressBlock(proxy)
      ? []
      : [
          `trustedProxies[${i}] is ${JSON.stringify(proxy)}, which is no address and no block such as 10.0.0.0/8`,
        ],
  );
  return [...problems, ...proxyProblems];
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
  const empty = allowedTargets?.findIndex(({ selectors }) => selectors?.length === 0) ?? -1;
  return empty < 0 ? [] : [`the selectors of allowedTargets[${empty}] ${EMPTY_SELECTORS}`];
}

/** A day is summarized when it has been over for a day, and it can be dropped only then. */
const LEAST_RETENTION_MS = 3 * 86_400_000;

/** The problems of the numbers, each alone and against each other. */
export function numberProblems(options: ResolvedOptions): string[] {
  const problems = rowsWithValues(options).flatMap(([name, { form }, value]) =>
    form.kind !== "limit" || (Number.isSafeInteger(value) && (value as number) >= form.least)
      ? []
      : `${name} is ${value}; it must be a whole number of at least ${form.least}`,
  );
  if (options.retentionMs > 0 && options.retentionMs < LEAST_RETENTION_MS) {
    problems.push(
      `retentionMs is ${options.retentionMs}; it must be 0, or at least 3 days (${LEAST_RETENTION_MS})`,
    );
  }
  if (!(options.keyQueueShare > 0 && options.keyQueueShare <= 1)) {
    problems.push(`keyQueueShare is ${options.keyQueueShare}; it must be above 0 and at most 1`);
  }
  if (options.maxGasLimit < 21_000n)
    problems.push(`maxGasLimit is ${options.maxGasLimit}; no transaction fits`);
  if (options.verificationGas < 0n) problems.push(`verificationGas is ${options.verificationGas}, below 0`);
  problems.push(...limitConflicts(options).map((problem) => withNames(problem, (name) => name)));
  return problems;
}

/** The driver connects to one host. The form of `libpq` with several hosts is not always a valid URL. */
export function namesSeveralHosts(url: string): boolean {
  return /^postgres(ql)?:\/\/(?:[^/@]*@)?[^/?]*,/.test(url);
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : "";
}

type Limits = Pick<
  ResolvedOptions,
  "headTimeoutMs" | "bodyTimeoutMs" | "maxBodyBytes" | "maxHeldBytes" | "rateBurst" | "maxBatchSize"
>;

/** Finds limits that contradict each other. `{name}` in a problem is an option. */
export function limitConflicts(limits: Limits): string[] {
  const { headTimeoutMs, bodyTimeoutMs, maxBodyBytes, maxHeldBytes, rateBurst, maxBatchSize } = limits;
  return [
    ...(headTimeoutMs > bodyTimeoutMs
      ? [
          `{headTimeoutMs} is ${headTimeoutMs}, longer than a whole request may take ({bodyTimeoutMs} ${bodyTimeoutMs})`,
        ]
      : []),
    ...(maxBodyBytes > maxHeldBytes
      ? [
          `{maxBodyBytes} is ${maxBodyBytes}: such a body could never pass, since {maxHeldBytes} is ${maxHeldBytes}`,
        ]
      : []),
    ...(rateBurst < maxBatchSize
      ? [`{rateBurst} is ${rateBurst}: a batch of {maxBatchSize} (${maxBatchSize}) could never pass`]
      : []),
  ];
}
