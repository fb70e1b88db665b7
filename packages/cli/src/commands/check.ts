import {
  type CheckLine,
  RequestRefusedError,
  type WaiverClient,
  WaiverClientError,
} from "@gas-waiver/client";
import { hashOf } from "@gas-waiver/client/self-hosted";
import { partsOf } from "../check/checkParts.js";
import { checkLocally } from "../check/localCheck.js";
import { type Context, defineCommand, type Terminal } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { CHAIN_ID_SETTING } from "../jsonRpcClient.js";
import { type Cell, tableLines } from "../output/table.js";
import { fileOf, url } from "../settings/parsers.js";
import { API_KEY_SETTINGS, SERVICE_URL_SETTING, serviceClient } from "../settings/serviceClient.js";
import { allowedTargets } from "../settings/serviceValues.js";
import type { Values } from "../settings/setting.js";
import { TRANSACTION, TRANSACTION_SETTINGS, transactionsOf } from "../submit/transactionSettings.js";

const { defaultValue: _default, ...URL_WITHOUT_DEFAULT } = SERVICE_URL_SETTING.url;

const SETTINGS = {
  ...TRANSACTION_SETTINGS,
  url: {
    ...URL_WITHOUT_DEFAULT,
    help: "Base address of the service that is asked.",
    defaultText: "none: the rules are checked here",
  },
  simulate: {
    help: "Also run each call that would be taken on the latest block; without a service it needs --rpc-url.",
  },
  rpcUrl: {
    placeholder: "URL",
    help: "Without a service: JSON-RPC of a node, which tells the chain, nonces, balances and the waivers' policies.",
    parse: url("http:", "https:"),
  },
  chainId: { ...CHAIN_ID_SETTING, help: "Without a service: id of the chain." },
  allowedTargets: {
    placeholder: "FILE",
    help: "Without a service: JSON file of the targets that may be called.",
    defaultText: "the registry's, or any without a node",
    parse: fileOf(allowedTargets),
  },
  json: { help: "Print a line of JSON for each transaction, as POST /v1/check does." },
  ...API_KEY_SETTINGS,
} as const;

type CheckValues = Values<typeof SETTINGS>;

export const check = defineCommand({
  description:
    "With --url the service says whether it would take each transaction now. Without it the command checks the rules itself:\n" +
    "form, chain, price, target, gas and signature, and with --rpc-url the sender's nonce and balance and what a registered\n" +
    "waiver may carry. Nothing is sent in either case.",
  examples: [
    "GAS_WAIVER_API_KEY=gw_dev_local gas-waiver check --url http://127.0.0.1:8080 --simulate 0x…",
    "gas-waiver check --rpc-url http://127.0.0.1:8545 --transactions airdrop.txt   # without a service",
    "gas-waiver check --chain-id 988 0x…   # without a network",
  ],
  failure: "a transaction would be refused",
  settings: SETTINGS,
  requires: [TRANSACTION],
  check: problemsOfPlace,
  async run(values, context) {
    const lines: CheckLine[] = [];
    try {
      for await (const part of partsOfLines(values, context)) lines.push(...part);
    } finally {
      // A check that breaks off in one of its requests keeps the answers of those before.
      if (lines.length > 0) printLines(lines, values, context);
    }
    const refused = lines.filter(({ success }) => !success).length;
    if (refused > 0)
      throw new CommandFailedError(`${refused} of ${lines.length} transaction(s) would be refused`);
  },
});

function printLines(lines: CheckLine[], values: CheckValues, { print, terminal }: Context): void {
  lines.sort((a, b) => a.index - b.index);
  if (values.json) {
    for (const line of lines) print(JSON.stringify(line));
    return;
  }
  const transactions = transactionsOf(values);
  for (const line of checkLines(lines, transactions, terminal)) print(line);
  print(checkSummary(lines, transactions.length));
}

function problemsOfPlace(values: Partial<CheckValues>): string[] {
  const { url: address, apiKey, apiKeyFile, rpcUrl, chainId, simulate } = values;
  if (address !== undefined) {
    const hasKey = (apiKey ?? apiKeyFile) !== undefined;
    return hasKey ? [] : ["the API key is missing: give --api-key-file FILE or GAS_WAIVER_API_KEY"];
  }
  return [
    ...(rpcUrl === undefined && chainId === undefined
      ? ["nothing tells the chain: give --url, --rpc-url or --chain-id"]
      : []),
    ...(simulate && rpcUrl === undefined ? ["--simulate needs --url or --rpc-url"] : []),
  ];
}

/** Yields the lines of each request to the service, or all lines of a check that asks none. */
async function* partsOfLines(values: CheckValues, { signal }: Context): AsyncGenerator<CheckLine[], void> {
  const { url: address, simulate = false, rpcUrl, chainId, allowedTargets: targets } = values;
  const transactions = transactionsOf(values);
  if (address === undefined) {
    yield await checkLocally(transactions, { rpcUrl, chainId, allowedTargets: targets, simulate, signal });
    return;
  }
  try {
    yield* checkAtService(serviceClient({ ...values, url: address }), transactions, { simulate, signal });
  } catch (error) {
    if (error instanceof WaiverClientError)
      throw new CommandFailedError(refusalText(error), { cause: error });
    throw error;
  }
}

/** The service's rate lasts longer than a pause or two when there are many requests. */
const RETRY = { attempts: 10 };

/** Asks in as many requests as the limits of the key make of the transactions, and yields the lines of each. */
async function* checkAtService(
  client: WaiverClient,
  transactions: readonly string[],
  options: { readonly simulate: boolean; readonly signal: AbortSignal },
): AsyncGenerator<CheckLine[], void> {
  const { limits } = await client.policy({ signal: options.signal, retry: RETRY });
  const maxTransactions = Math.min(limits.maxBatchSize, limits.rateBurst);
  for (const part of partsOf(transactions, { maxTransactions, maxBytes: limits.maxBodyBytes })) {
    const texts = part.map((index) => transactions[index] ?? "");
    const checked = await client.check(texts, { ...options, retry: RETRY });
    yield checked.map((line) => ({ ...line, index: part[line.index] ?? line.index }));
  }
}

/** The lines of one sender are not split: each counts those before it. */
function refusalText(error: WaiverClientError): string {
  const isTooLarge = error instanceof RequestRefusedError && error.reason === "BATCH_TOO_LARGE";
  return isTooLarge
    ? `${error.message}: a sender has more of them; check fewer, or give --rpc-url in place of --url`
    : error.message;
}

const COLUMNS = [
  { title: "#", isNumber: true },
  { title: "transaction", shortens: true },
  { title: "answer" },
  { title: "why" },
];

/**
 * The lines of a check as a table for a person.
 * @param transactions the signed bytes as 0x hex, in the order of the lines.
 */
function checkLines(
  lines: readonly CheckLine[],
  transactions: readonly string[],
  terminal: Terminal | undefined,
): string[] {
  const rows = lines.map((line) => {
    const hash = hashOf(transactions[line.index] ?? "0x");
    return [String(line.index + 1), hash, answerOf(line), reasonOf(line)];
  });
  return tableLines(COLUMNS, rows, terminal);
}

function answerOf(line: CheckLine): Cell {
  if (!line.success) return { text: "refused", tone: "bad" };
  if (line.simulation?.success === false) return { text: "taken, reverts", tone: "bad" };
  return { text: "taken", tone: "good" };
}

function reasonOf(line: CheckLine): string {
  if (!line.success) return `${line.error.reason ?? line.error.code}: ${line.error.message}`;
  if (line.simulation === undefined) return "";
  return line.simulation.success
    ? "the call succeeds"
    : `${line.simulation.kind}: ${line.simulation.message}`;
}

/** One sentence for all lines. @param total the transactions, of which some have no line where the check broke off. */
function checkSummary(lines: readonly CheckLine[], total: number): string {
  const taken = lines.filter(({ success }) => success).length;
  const unchecked = total - lines.length;
  const rest = unchecked > 0 ? `; not checked: ${unchecked}` : "";
  return `${taken} of ${lines.length} transaction(s) would be taken${rest}`;
}
