import { SERVE_SETTINGS } from "../../packages/cli/src/serve/serveSettings.js";
import { settingsTable } from "./commandsPage.js";
import { page } from "./markdown.js";

type Name = keyof typeof SERVE_SETTINGS;

/** The settings of the service by subject. */
const SUBJECTS = {
  "The chain": ["rpcUrl", "rpcWsUrl", "chainId", "reorgDepth", "skipNodeCheck"],
  "The waivers": [
    "waiverKeystore",
    "passphraseFile",
    "passphraseFd",
    "waiverKms",
    "pkcs11Library",
    "pkcs11Token",
    "pkcs11PinFile",
    "pkcs11Keys",
    "web3signerUrl",
    "web3signerWaivers",
    "web3signerCa",
    "web3signerCert",
    "web3signerKey",
    "waiverKeyFile",
    "waiverKeys",
    "allowedTargets",
    "policySource",
    "verificationGas",
    "innerEncoding",
  ],
  "The store": [
    "databaseUrl",
    "databaseUrlFile",
    "dataDir",
    "schema",
    "requireSynchronousStandby",
    "retentionMs",
    "dropExportedOnly",
    "laneConnections",
    "acceptConnections",
    "readConnections",
    "adminConnections",
  ],
  "Who may call": ["apiKeysFile", "apiKeys", "corsOrigins"],
  "Ports and addresses": [
    "host",
    "port",
    "tlsCert",
    "tlsKey",
    "behindProxy",
    "trustedProxies",
    "proxyHeader",
    "metricsPort",
    "metricsHost",
    "adminPort",
    "adminHost",
    "adminTokensFile",
    "adminTokens",
  ],
  Requests: ["maxBatchSize", "maxBodyBytes", "maxHeldBytes", "maxWrapperBytes", "idempotencyMs"],
  "Rates and queues": [
    "ratePerSecond",
    "rateBurst",
    "readRatePerSecond",
    "readBurst",
    "queueCapacity",
    "maxInFlight",
    "custodyRatePerSecond",
  ],
  "The gateway": [
    "gatewayWait",
    "gatewayPaid",
    "gatewayRatePerSecond",
    "gatewayAddressRatePerSecond",
    "gatewayLogBlocks",
    "gatewayAnswerBytes",
  ],
  Connections: [
    "maxConnections",
    "maxAddressConnections",
    "maxSockets",
    "maxKeySockets",
    "maxSocketRequests",
  ],
  Times: [
    "headTimeoutMs",
    "bodyTimeoutMs",
    "requestTimeoutMs",
    "nonceGapTimeoutMs",
    "custodyTimeoutMs",
    "maxQueueMs",
    "resendAfterMs",
    "leaseMs",
    "shutdownDelayMs",
  ],
  "The log": ["logLevel"],
} as const satisfies Readonly<Record<string, readonly Name[]>>;

/** docs/reference/settings.md */
export function settingsPage(): string {
  const placed: ReadonlySet<string> = new Set(Object.values(SUBJECTS).flat());
  const unplaced = Object.keys(SERVE_SETTINGS).filter((name) => !placed.has(name));
  if (unplaced.length > 0) throw new Error(`SUBJECTS of settingsPage.ts lacks ${unplaced.join(", ")}`);
  const sections = Object.entries(SUBJECTS).map(
    ([subject, names]) => `## ${subject}\n\n${settingsTable(names.map((name) => SERVE_SETTINGS[name]))}`,
  );
  return page(
    "packages/cli/src/serve",
    "Settings",
    "These are the settings of `gas-waiver serve`. Each can be given as the flag, as the variable below it, or in a [configuration file](../guides/configuration.md) under the name of the flag. The flag wins over the variable, and the variable over the file. Secrets have no flag, since arguments can be seen by others. Times are milliseconds.",
    "A setting that is wrong, or two that contradict each other, keep the service from starting; it names all of them at once, with status 2. [Limits](../limits.md) tells what happens beyond each limit. A running service takes over another value of those marked *Reloadable* when it [reads its settings again](../guides/configuration.md#change-it).",
    ...sections,
  );
}
