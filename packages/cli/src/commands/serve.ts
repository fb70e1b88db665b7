import { DEFAULTS, type ServerOptions } from "@gas-waiver/server";
import { defineCommand } from "../Command.js";
import { aborted } from "../Interruption.js";
import { Owned } from "../Owned.js";
import {
  allowedTargets,
  apiKeys,
  fileOf,
  LOG_LEVELS,
  logLevel,
  port,
  privateKeys,
  text,
  url,
  wholeNumber,
} from "../settings/parsers.js";
import type { Alternatives, Values } from "../settings/Setting.js";
import { openServer } from "./openServer.js";

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

const SETTINGS = {
  rpcUrl: {
    flag: "rpc-url",
    env: "GAS_WAIVER_RPC_URL",
    placeholder: "URL",
    help: "JSON-RPC of the chain's node.",
    required: true,
    parse: url("http:", "https:"),
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
    required: true,
    parse: fileOf(allowedTargets),
  },
  waiverKeyFile: {
    flag: "waiver-key-file",
    env: "GAS_WAIVER_KEY_FILE",
    placeholder: "FILE",
    help: "The waiver's private key, as hex.",
    parse: fileOf(privateKeys),
  },
  apiKeysFile: {
    flag: "api-keys-file",
    env: "GAS_WAIVER_API_KEYS_FILE",
    placeholder: "FILE",
    help: "The API keys that may submit, one a line.",
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
  requestTimeoutMs: limit("request-timeout", "MS", "How long a line waits.", DEFAULTS.requestTimeoutMs, 1),
  nonceGapTimeoutMs: limit(
    "nonce-gap-timeout",
    "MS",
    "How long a transaction waits for the one before it.",
    DEFAULTS.nonceGapTimeoutMs,
    0,
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
    help: "The waiver's private key, as hex; instead of --waiver-key-file.",
    secret: true,
    parse: privateKeys,
  },
  apiKeys: {
    env: "GAS_WAIVER_API_KEYS",
    help: "The API keys that may submit, separated by commas; instead of --api-keys-file.",
    secret: true,
    parse: apiKeys,
  },
  databaseUrl: {
    env: "DATABASE_URL",
    help: "A PostgreSQL to keep submissions in; instead of --data-dir.",
    secret: true,
    parse: url("postgres:", "postgresql:"),
  },
} as const;

const ALTERNATIVES: readonly Alternatives<keyof typeof SETTINGS>[] = [
  { of: ["waiverKeyFile", "waiverKeys"], what: "the waiver's private key", required: true },
  { of: ["apiKeysFile", "apiKeys"], what: "the list of API keys", required: true },
  { of: ["dataDir", "databaseUrl"], what: "the place of the store", required: false },
];

export const serve = defineCommand({
  description:
    "Every flag can be given as the environment variable beside it; a flag wins over its variable.",
  settings: SETTINGS,
  agreement: {
    alternatives: ALTERNATIVES,
    check: ({ rateBurst = DEFAULTS.rateBurst, maxBatchSize = DEFAULTS.maxBatchSize }) =>
      rateBurst < maxBatchSize
        ? [`--rate-burst is ${rateBurst}: a batch of --max-batch-size (${maxBatchSize}) could never pass`]
        : [],
  },
  async run(values, { print, signal }) {
    const owned = new Owned();
    try {
      const { host, port: listenPort } = values;
      const opening = { host, port: listenPort, owned, signal };
      const { url: at, earlierSubmissions } = await openServer(serverOptions(values), opening);
      print(`${earlierSubmissions} earlier submission(s) found in the store`);
      print(`ready: service at ${at} for chain ${values.chainId}`);
      await aborted(signal);
    } finally {
      await owned.close();
    }
  },
});

function serverOptions(values: Values<typeof SETTINGS>): ServerOptions {
  const { host, port: listenPort, waiverKeyFile, waiverKeys, apiKeysFile, apiKeys: keys, ...rest } = values;
  const { dataDir = ".gas-waiver", databaseUrl, ...limits } = rest;
  return {
    ...withoutUndefined(limits),
    waiverKeys: waiverKeyFile ?? waiverKeys ?? [],
    apiKeys: apiKeysFile ?? keys ?? [],
    ...(databaseUrl === undefined ? { dataDir } : { databaseUrl }),
  };
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

function withoutUndefined<T extends object>(object: T): Defined<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<T>;
}
