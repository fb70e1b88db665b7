import { apiKeys } from "../settings/apiKeys.js";
import {
  adminTokens,
  databaseUrl,
  LOG_LEVELS,
  logLevel,
  path,
  retention,
  schemaName,
  switchedOn,
} from "../settings/parsers.js";
import { secretFileOf } from "../settings/secretFile.js";
import type { Alternatives, Values } from "../settings/setting.js";
import { CUSTODIES, CUSTODY_SETTINGS, problemsOfCustody } from "../waivers/custodies.js";
import { CHAIN_SETTINGS } from "./chainSettings.js";
import { GATEWAY_SETTINGS } from "./gatewaySettings.js";
import {
  LANE_LIMITS,
  NETWORK_LIMITS,
  problemsOfLimits,
  REQUEST_LIMITS,
  STORE_LIMITS,
} from "./limitSettings.js";
import { LISTEN_SETTINGS } from "./listenSettings.js";
import { markReloaded } from "./reloadedSettings.js";
import { problemsOfTransport, TRANSPORT_SETTINGS } from "./transportSettings.js";

/** Several services, or several networks, may have their tables in one database. */
const SCHEMA_SETTING = {
  schema: {
    flag: "schema",
    env: "GAS_WAIVER_SCHEMA",
    placeholder: "NAME",
    help: "PostgreSQL schema of the tables, which the service makes.",
    defaultText: "public; of a network among several gas_waiver_ and its name",
    parse: schemaName,
  },
} as const;

/** All settings of `gas-waiver serve`, in the order of its help. */
export const SERVE_SETTINGS = markReloaded({
  ...CHAIN_SETTINGS,
  ...CUSTODY_SETTINGS,
  apiKeysFile: {
    flag: "api-keys-file",
    env: "GAS_WAIVER_API_KEYS_FILE",
    placeholder: "FILE",
    help: "File of API keys that may submit, beside those of `gas-waiver keys`; one a line, each of 32 or more random characters.",
    parse: secretFileOf(apiKeys),
  },
  adminTokensFile: {
    flag: "admin-token-file",
    env: "GAS_WAIVER_ADMIN_TOKEN_FILE",
    placeholder: "FILE",
    help: "File of the admin API's tokens, as in GAS_WAIVER_ADMIN_TOKEN; one a line.",
    parse: secretFileOf(adminTokens),
  },
  dataDir: {
    flag: "data-dir",
    env: "GAS_WAIVER_DATA_DIR",
    placeholder: "FOLDER",
    help: "Data folder of the embedded PostgreSQL, which the service starts unless another one is named.",
    defaultText: ".gas-waiver",
    parse: path,
  },
  databaseUrlFile: {
    flag: "database-url-file",
    env: "GAS_WAIVER_DATABASE_URL_FILE",
    placeholder: "FILE",
    help: "File with the URL of a PostgreSQL for the submissions, as in DATABASE_URL.",
    parse: secretFileOf(databaseUrl),
  },
  ...SCHEMA_SETTING,
  ...LISTEN_SETTINGS,
  ...TRANSPORT_SETTINGS,
  ...REQUEST_LIMITS,
  ...GATEWAY_SETTINGS,
  ...LANE_LIMITS,
  requireSynchronousStandby: {
    flag: "require-synchronous-standby",
    help: "Refuse a database whose commits wait for no standby.",
    parse: switchedOn,
  },
  retentionMs: {
    flag: "retention",
    env: "GAS_WAIVER_RETENTION",
    placeholder: "TIME",
    help: "Time that outcomes are kept, such as 90d and at least 3d; `forever` keeps them all.",
    defaultText: "90d",
    parse: retention,
  },
  dropExportedOnly: {
    flag: "drop-exported-only",
    help: "Keep the outcomes of a day that is too old until `gas-waiver export` has written the day.",
    parse: switchedOn,
  },
  ...STORE_LIMITS,
  logLevel: {
    flag: "log-level",
    env: "GAS_WAIVER_LOG_LEVEL",
    placeholder: "LEVEL",
    help: `Lowest level of the log on standard error: ${LOG_LEVELS.join(", ")}.`,
    defaultValue: "info",
    parse: logLevel,
  },
  apiKeys: {
    env: "GAS_WAIVER_API_KEYS",
    fileKey: "api-keys",
    help: "API keys that may submit, beside those of `gas-waiver keys`, separated by commas, each of 32 or more random characters; instead of --api-keys-file.",
    secret: true,
    parse: apiKeys,
  },
  adminTokens: {
    env: "GAS_WAIVER_ADMIN_TOKEN",
    fileKey: "admin-tokens",
    help: "Token of the admin API: 32 or more characters. Several, separated by commas, as NAME/ROLE/EXPIRES:TOKEN, such as alice/viewer/2030-01-31; role and expiry may be left out.",
    secret: true,
    parse: adminTokens,
  },
  databaseUrl: {
    env: "DATABASE_URL",
    fileKey: "database-url",
    help: "URL of a PostgreSQL for the submissions; instead of --data-dir.",
    secret: true,
    parse: databaseUrl,
  },
} as const);

/** The settings that belong to a chain: each network of a service has its own. */
export const NETWORK_SETTINGS = markReloaded({
  ...CHAIN_SETTINGS,
  ...CUSTODY_SETTINGS,
  ...SCHEMA_SETTING,
  ...NETWORK_LIMITS,
} as const);

type NetworkKey = keyof typeof NETWORK_SETTINGS;

/** The settings of the whole service, whatever networks it serves. */
export const SHARED_SETTINGS = withoutKeys(SERVE_SETTINGS, Object.keys(NETWORK_SETTINGS) as NetworkKey[]);

function withoutKeys<T extends object, K extends keyof T>(object: T, keys: readonly K[]): Omit<T, K> {
  const entries = Object.entries(object).filter(([key]) => !keys.includes(key as K));
  return Object.fromEntries(entries) as Omit<T, K>;
}

export type ServeValues = Values<typeof SERVE_SETTINGS>;
export type SharedValues = Values<typeof SHARED_SETTINGS>;
export type NetworkValues = Values<typeof NETWORK_SETTINGS>;

const SHARED_ALTERNATIVES: readonly Alternatives<keyof typeof SHARED_SETTINGS>[] = [
  { keys: ["apiKeysFile", "apiKeys"], subject: "the list of API keys", required: false },
  { keys: ["adminTokensFile", "adminTokens"], subject: "the list of admin tokens", required: false },
  { keys: ["dataDir", "databaseUrlFile", "databaseUrl"], subject: "the place of the store", required: false },
];

/** The service must use a given `--allowed-targets`. */
function problemsOfPolicy({ policySource, allowedTargets }: Partial<NetworkValues>): string[] {
  if (policySource === "registry" && allowedTargets !== undefined) {
    return [
      "--allowed-targets would not be used with --policy-source registry; with both, it narrows the registry",
    ];
  }
  return [];
}

/** The admin API needs a token. */
function problemsOfAdmin({ adminPort, adminTokensFile, adminTokens }: Partial<SharedValues>): string[] {
  if (adminPort === undefined || (adminTokensFile ?? adminTokens) !== undefined) return [];
  return ["--admin-port is given without a token: give --admin-token-file or GAS_WAIVER_ADMIN_TOKEN"];
}

/** Addresses that stand for every address of the machine. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Two ports cannot be opened with one number, unless on different addresses. */
function problemsOfPorts(values: Partial<SharedValues>): string[] {
  const { host = "", port, metricsHost = "", metricsPort, adminHost = "", adminPort } = values;
  const ports = [
    { flag: "--port", number: port, host },
    { flag: "--metrics-port", number: metricsPort, host: metricsHost },
    { flag: "--admin-port", number: adminPort, host: adminHost },
  ].filter(({ number }) => number !== undefined && number !== 0);
  return ports.flatMap((one, i) =>
    ports.slice(i + 1).flatMap((other) => {
      const meet = one.host === other.host || [one, other].some(({ host: own }) => EVERY_ADDRESS.has(own));
      if (one.number !== other.number || !meet) return [];
      return `${other.flag} and ${one.flag} are both ${one.number}: each needs a port of its own`;
    }),
  );
}

/** Only the addresses of ports that are opened count. */
function problemsOfAddresses(values: Partial<SharedValues>): string[] {
  const { host, metricsPort, metricsHost, adminPort, adminHost } = values;
  return problemsOfTransport(values, {
    host,
    metricsHost: metricsPort === undefined ? undefined : metricsHost,
    adminHost: adminPort === undefined ? undefined : adminHost,
  });
}

const problemsOfNetwork = (values: Partial<NetworkValues>) => [
  ...problemsOfCustody(values),
  ...problemsOfPolicy(values),
];

const problemsOfService = (values: Partial<SharedValues>) => [
  ...problemsOfLimits(values),
  ...problemsOfAddresses(values),
  ...problemsOfPorts(values),
  ...problemsOfAdmin(values),
];

/** The rules between the settings of one network. */
export const NETWORK_RULES = { alternatives: [CUSTODIES], check: problemsOfNetwork };

/** The rules between the settings of the whole service. */
export const SHARED_RULES = { alternatives: SHARED_ALTERNATIVES, check: problemsOfService };

/** The rules between all settings of a service with one network. */
export const SERVE_RULES = {
  alternatives: [CUSTODIES, ...SHARED_ALTERNATIVES],
  check: (values: Partial<ServeValues>) => [...problemsOfNetwork(values), ...problemsOfService(values)],
};
