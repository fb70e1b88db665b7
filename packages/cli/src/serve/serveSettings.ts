import {
  DEFAULTS,
  limitConflicts,
  OPTIONS,
  type Options,
  type OptionTerms,
  withNames,
} from "@gas-waiver/server";
import { path } from "../settings/parsers.js";
import { secretFileOf } from "../settings/secretFile.js";
import { adminTokens, apiKeys, databaseUrl } from "../settings/serviceValues.js";
import { namesOf, reloadable, serviceSettings, splitSettings, type Values } from "../settings/setting.js";
import { CUSTODY, CUSTODY_SETTINGS, type CustodyValues, problemsOfCustody } from "../waivers/custodies.js";
import { NETWORK_PRESET } from "./networkPreset.js";
import { flagOfOption, settingsOf } from "./optionSettings.js";
import { LISTEN_SETTINGS, OPERATORS_SETTINGS, problemsOfListening } from "./portSettings.js";

const STORE = "the place of the store";

const STORE_SETTINGS = {
  databaseUrl: {
    env: "DATABASE_URL",
    fileKey: "database-url",
    subject: STORE,
    help: "URL of a PostgreSQL for the submissions; instead of --data-dir.",
    secret: true,
    parse: databaseUrl,
  },
  ...serviceSettings({
    databaseUrlFile: {
      placeholder: "FILE",
      subject: STORE,
      help: "File with the URL of a PostgreSQL for the submissions, as in DATABASE_URL.",
      parse: secretFileOf(databaseUrl),
    },
    dataDir: {
      placeholder: "FOLDER",
      subject: STORE,
      help: "Data folder of the embedded PostgreSQL, which the service starts unless another one is named.",
      defaultText: ".gas-waiver",
      parse: path,
    },
  }),
} as const;

const API_KEY_SETTINGS = {
  apiKeysFile: {
    ...namesOf("api-keys-file"),
    placeholder: "FILE",
    subject: "the list of API keys",
    help: "File of API keys that may submit, beside those of `gas-waiver keys`; one a line, each of 32 or more random characters.",
    reload: "always",
    parse: secretFileOf(apiKeys),
  },
  apiKeys: {
    env: "GAS_WAIVER_API_KEYS",
    fileKey: "api-keys",
    subject: "the list of API keys",
    help: "API keys that may submit, beside those of `gas-waiver keys`, separated by commas, each of 32 or more random characters; instead of --api-keys-file.",
    secret: true,
    reload: "always",
    parse: apiKeys,
  },
} as const;

const ADMIN_TOKEN_SETTINGS = {
  adminTokensFile: {
    ...namesOf("admin-token-file"),
    placeholder: "FILE",
    subject: "the list of admin tokens",
    help: "File of the admin API's tokens, as in GAS_WAIVER_ADMIN_TOKEN; one a line.",
    reload: "always",
    parse: secretFileOf(adminTokens),
  },
  adminTokens: {
    env: "GAS_WAIVER_ADMIN_TOKEN",
    fileKey: "admin-tokens",
    subject: "the list of admin tokens",
    help: "Token of the admin API: 32 or more characters. Several, separated by commas, as NAME/ROLE/EXPIRES:TOKEN, such as alice/viewer/2030-01-31; role and expiry may be left out.",
    secret: true,
    reload: "always",
    parse: adminTokens,
  },
} as const;

/** All settings of `gas-waiver serve` by subject, in the order of its help. */
export const SERVE_SUBJECTS = {
  "The chain": { network: NETWORK_PRESET, ...settingsOf("The chain") },
  "The waivers": { ...reloadable(CUSTODY_SETTINGS), ...settingsOf("The waivers") },
  "The store": { ...STORE_SETTINGS, ...settingsOf("The store") },
  "Who may call": { ...API_KEY_SETTINGS, ...settingsOf("Who may call") },
  "Ports and addresses": {
    ...LISTEN_SETTINGS,
    ...settingsOf("Ports and addresses"),
    ...OPERATORS_SETTINGS,
    ...ADMIN_TOKEN_SETTINGS,
  },
  Requests: settingsOf("Requests"),
  "Rates and queues": settingsOf("Rates and queues"),
  "The gateway": settingsOf("The gateway"),
  Connections: settingsOf("Connections"),
  Times: settingsOf("Times"),
  "The log": settingsOf("The log"),
} as const;

type Subjects = typeof SERVE_SUBJECTS;
type All<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;

/** All settings of `gas-waiver serve`, in the order of its help. */
export const SERVE_SETTINGS = Object.assign({}, ...Object.values(SERVE_SUBJECTS)) as All<
  Subjects[keyof Subjects]
>;

type OfChain = {
  [K in keyof Options]: Options[K] extends { readonly scope: "chain" } ? K : never;
}[keyof Options];
type NetworkKey = (OfChain | keyof CustodyValues | "network") & keyof typeof SERVE_SETTINGS;

/** The settings that belong to a chain, of which each network has its own, and those of the whole service. */
export const [NETWORK_SETTINGS, SHARED_SETTINGS] = splitSettings(
  SERVE_SETTINGS,
  (name: string): name is NetworkKey =>
    name === "network" ||
    Object.hasOwn(CUSTODY_SETTINGS, name) ||
    (OPTIONS as Readonly<Record<string, OptionTerms>>)[name]?.scope === "chain",
);

export type ServeValues = Values<typeof SERVE_SETTINGS>;
export type SharedValues = Values<typeof SHARED_SETTINGS>;
export type NetworkValues = Values<typeof NETWORK_SETTINGS>;

/** The service must use a given `--allowed-targets`, and have those that `--policy-source` names. */
function problemsOfPolicy({ policySource, allowedTargets }: Partial<NetworkValues>): string[] {
  if (policySource === "registry" && allowedTargets !== undefined) {
    return [
      "--allowed-targets would not be used with --policy-source registry; with both, it narrows the registry",
    ];
  }
  const isWithout = policySource !== undefined && policySource !== "registry" && allowedTargets === undefined;
  return isWithout ? [`--policy-source ${policySource} needs --allowed-targets`] : [];
}

/** The admin API needs a token. */
function problemsOfAdmin({ adminPort, adminTokensFile, adminTokens }: Partial<SharedValues>): string[] {
  if (adminPort === undefined || (adminTokensFile ?? adminTokens) !== undefined) return [];
  return ["--admin-port is given without a token: give --admin-token-file or GAS_WAIVER_ADMIN_TOKEN"];
}

/** A limit beside the others, and a key's share of the queue beside a whole batch (D22). */
export function problemsOfLimits(values: Partial<SharedValues>): string[] {
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  const limits: typeof DEFAULTS = { ...DEFAULTS, ...given };
  const { queueCapacity, keyQueueShare, maxBatchSize } = limits;
  const share = Math.ceil(queueCapacity * keyQueueShare);
  const problems = [
    ...limitConflicts(limits),
    ...(share < maxBatchSize
      ? [
          `{queueCapacity} is ${queueCapacity}, of which one API key may have ${share}: a batch of {maxBatchSize} (${maxBatchSize}) could never pass`,
        ]
      : []),
  ];
  return problems.map((problem) => withNames(problem, flagOfOption));
}

const problemsOfNetwork = (values: Partial<NetworkValues>) => [
  ...problemsOfCustody(values),
  ...problemsOfPolicy(values),
];

const problemsOfService = (values: Partial<SharedValues>) => [
  ...problemsOfLimits(values),
  ...problemsOfListening(values),
  ...problemsOfAdmin(values),
];

/** The rules between the settings of one network. */
export const NETWORK_RULES = { requires: [CUSTODY], check: problemsOfNetwork };

/** The rules between the settings of the whole service. */
export const SHARED_RULES = { check: problemsOfService };

/** The rules between all settings of a service with one network. */
export const SERVE_RULES = {
  requires: [CUSTODY],
  check: (values: Partial<ServeValues>) => [...problemsOfNetwork(values), ...problemsOfService(values)],
};
