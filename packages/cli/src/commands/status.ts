import { WaiverClientError } from "@gas-waiver/client";
import { type Context, defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { urls } from "../settings/parsers.js";
import {
  API_KEY_SETTINGS,
  SERVICE_URL_SETTING,
  serviceClient,
  urlOfFile,
} from "../settings/serviceClient.js";
import { InvalidValueError, namesOf, type Values } from "../settings/setting.js";
import { readServiceStatus } from "../status/serviceStatus.js";
import { isWell, recordLines, statusJson, statusLines } from "../status/statusOutput.js";
import { STORE_SETTINGS } from "../store/withStore.js";

const { defaultValue: defaultUrl, ...URL_WITHOUT_DEFAULT } = SERVICE_URL_SETTING.url;

const SETTINGS = {
  submission: {
    positional: true,
    placeholder: "ID|HASH",
    help: "The id of a submission, or the hash of its transaction. Without it the command shows the service.",
    parse: submissionName,
  },
  url: { ...URL_WITHOUT_DEFAULT, defaultText: `that of the service of --config, otherwise ${defaultUrl}` },
  rpcUrl: {
    ...namesOf("rpc-url"),
    placeholder: "URL",
    help: "JSON-RPC of the nodes whose heads are shown, separated by commas.",
    repeatable: true,
    parse: urls("http:", "https:"),
  },
  ...STORE_SETTINGS,
  apiKeyFile: API_KEY_SETTINGS.apiKeyFile,
  apiKey: { ...API_KEY_SETTINGS.apiKey, help: "The API key, for records, readiness and waivers." },
} as const;

type StatusValues = Values<typeof SETTINGS> & { readonly url: string };

export const status = defineCommand({
  description:
    "With an id or a hash: the record of that submission. Without: one table of the service with its readiness, the queue, the\n" +
    "lanes, the waivers and the heads of the nodes, from what the settings name: the service by its API key, the store by\n" +
    "DATABASE_URL or --data-dir, the nodes by --rpc-url. In the environment of `gas-waiver serve` most are set. It only reads.",
  examples: [
    "GAS_WAIVER_API_KEY=gw_dev_local gas-waiver status --rpc-url http://127.0.0.1:8545",
    "GAS_WAIVER_API_KEY=gw_dev_local gas-waiver status 0x…",
  ],
  failure: "the submission has failed or reverted, or a part of the service is not well",
  settings: SETTINGS,
  check: ({ submission, apiKey, apiKeyFile }) =>
    submission !== undefined && (apiKey ?? apiKeyFile) === undefined
      ? ["a record needs an API key: give --api-key-file FILE or GAS_WAIVER_API_KEY"]
      : [],
  async run(given, context) {
    const values = { ...given, url: given.url ?? (given.config ? urlOfFile(given.config) : defaultUrl) };
    if (values.submission === undefined) await showService(values, context);
    else await showRecord(values.submission, values, context);
  },
});

async function showService(values: StatusValues, { print, terminal, signal }: Context): Promise<void> {
  const { url, rpcUrl: rpcUrls = [], config, dataDir, databaseUrlFile, databaseUrl, schema, json } = values;
  const store = { config, dataDir, databaseUrlFile, databaseUrl, schema };
  const hasKey = (values.apiKeyFile ?? values.apiKey) !== undefined;
  const client = serviceClient(values);
  const found = await readServiceStatus({ url, client, hasKey, store, rpcUrls, signal });
  if (json) print(statusJson(found));
  else for (const line of statusLines(found, terminal)) print(line);
  if (!isWell(found)) throw new CommandFailedError("not everything is well");
}

async function showRecord(
  submission: string,
  values: StatusValues,
  { print, terminal, signal }: Context,
): Promise<void> {
  try {
    const record = await serviceClient(values).status(submission, { signal });
    if (values.json) print(JSON.stringify(record));
    else for (const line of recordLines(record, terminal)) print(line);
    const hasReverted = "reverted" in record && record.reverted === true;
    if (record.state === "failed" || hasReverted) {
      throw new CommandFailedError(`the submission has ${hasReverted ? "reverted" : "failed"}`);
    }
  } catch (error) {
    if (error instanceof WaiverClientError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  }
}

function submissionName(value: string): string {
  if (/^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|0x[0-9a-f]{64})$/i.test(value)) return value.toLowerCase();
  throw new InvalidValueError("is neither the id of a submission nor the hash of a transaction");
}
