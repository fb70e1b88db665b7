import { apiKeys } from "../settings/apiKeys.js";
import {
  adminTokens,
  databaseUrl,
  LOG_LEVELS,
  logLevel,
  retention,
  switchedOn,
  text,
} from "../settings/parsers.js";
import { secretFileOf } from "../settings/secretFile.js";
import type { Alternatives, Values } from "../settings/setting.js";
import { CHAIN_SETTINGS } from "./chainSettings.js";
import { CUSTODIES, CUSTODY_FLAGS, CUSTODY_VARIABLES, problemsOfCustody } from "./custodySettings.js";
import { GATEWAY_SETTINGS } from "./gatewaySettings.js";
import { LANE_LIMITS, problemsOfLimits, REQUEST_LIMITS, STORE_LIMITS } from "./limitSettings.js";
import { LISTEN_SETTINGS } from "./listenSettings.js";
import { problemsOfTransport, TRANSPORT_SETTINGS } from "./transportSettings.js";

/** All settings of `gas-waiver serve`, in the order of its help. */
export const SERVE_SETTINGS = {
  ...CHAIN_SETTINGS,
  ...CUSTODY_FLAGS,
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
    help: "Data folder of the embedded PostgreSQL, which the service starts unless DATABASE_URL names another.",
    defaultText: ".gas-waiver",
    parse: text,
  },
  databaseUrlFile: {
    flag: "database-url-file",
    env: "GAS_WAIVER_DATABASE_URL_FILE",
    placeholder: "FILE",
    help: "File with the URL of a PostgreSQL for the submissions, as in DATABASE_URL.",
    parse: secretFileOf(databaseUrl),
  },
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
  ...CUSTODY_VARIABLES,
  apiKeys: {
    env: "GAS_WAIVER_API_KEYS",
    help: "API keys that may submit, beside those of `gas-waiver keys`, separated by commas, each of 32 or more random characters; instead of --api-keys-file.",
    secret: true,
    parse: apiKeys,
  },
  adminTokens: {
    env: "GAS_WAIVER_ADMIN_TOKEN",
    help: "Token of the admin API: 32 or more characters. Several, separated by commas, as NAME/ROLE/EXPIRES:TOKEN, such as alice/viewer/2030-01-31; role and expiry may be left out.",
    secret: true,
    parse: adminTokens,
  },
  databaseUrl: {
    env: "DATABASE_URL",
    help: "URL of a PostgreSQL for the submissions; instead of --data-dir.",
    secret: true,
    parse: databaseUrl,
  },
} as const;

export type ServeValues = Values<typeof SERVE_SETTINGS>;

const ALTERNATIVES: readonly Alternatives<keyof typeof SERVE_SETTINGS>[] = [
  CUSTODIES,
  { keys: ["apiKeysFile", "apiKeys"], subject: "the list of API keys", required: false },
  { keys: ["adminTokensFile", "adminTokens"], subject: "the list of admin tokens", required: false },
  { keys: ["dataDir", "databaseUrlFile", "databaseUrl"], subject: "the place of the store", required: false },
];

/** The service must use a given `--allowed-targets`. */
function problemsOfPolicy({ policySource, allowedTargets }: Partial<ServeValues>): string[] {
  if (policySource === "registry" && allowedTargets !== undefined) {
    return [
      "--allowed-targets would not be used with --policy-source registry; with both, it narrows the registry",
    ];
  }
  return [];
}

/** The admin API needs a token. */
function problemsOfAdmin({ adminPort, adminTokensFile, adminTokens }: Partial<ServeValues>): string[] {
  if (adminPort === undefined || (adminTokensFile ?? adminTokens) !== undefined) return [];
  return ["--admin-port is given without a token: give --admin-token-file or GAS_WAIVER_ADMIN_TOKEN"];
}

/** Only the addresses of ports that are opened count. */
function problemsOfAddresses(values: Partial<ServeValues>): string[] {
  const { host, metricsPort, metricsHost, adminPort, adminHost } = values;
  return problemsOfTransport(values, {
    host,
    metricsHost: metricsPort === undefined ? undefined : metricsHost,
    adminHost: adminPort === undefined ? undefined : adminHost,
  });
}

export const SERVE_RULES = {
  alternatives: ALTERNATIVES,
  check: (values: Partial<ServeValues>) => [
    ...problemsOfCustody(values),
    ...problemsOfLimits(values),
    ...problemsOfPolicy(values),
    ...problemsOfAddresses(values),
    ...problemsOfAdmin(values),
  ],
};
