import {
  type ResultLine,
  type SubmitAllProgress,
  type SubmitAllResult,
  WaiverClientError,
} from "@gas-waiver/client";
import { fileJournal } from "@gas-waiver/client/node";
import { type Context, defineCommand } from "../command.js";
import { CommandFailedError, IncompleteError } from "../errorMessage.js";
import { Progress } from "../output/progress.js";
import { oneOf, text } from "../settings/parsers.js";
import { API_KEY, API_KEY_SETTINGS, SERVICE_URL_SETTING, serviceClient } from "../settings/serviceClient.js";
import type { Values } from "../settings/setting.js";
import { count, progressLine } from "../submit/submitProgress.js";
import { transactionsFile } from "../submit/transactionSettings.js";

const SETTINGS = {
  transactions: {
    placeholder: "FILE",
    help: "File of signed transactions as 0x hex, one a line; `#` begins a comment. `-` is standard input.",
    required: true,
    parse: transactionsFile,
  },
  journal: {
    placeholder: "FILE",
    help: "File that has what was sent and what became of it. The same command with the same journal goes on where it ended.",
    defaultText: "the file of transactions with .journal behind its name; none for standard input",
    parse: text,
  },
  wait: {
    placeholder: "STAGE",
    help: "The stage at which a transaction has succeeded: broadcast (a node of the chain has it) or included (in a block, and not reverted).",
    defaultValue: "broadcast",
    parse: oneOf("broadcast", "included"),
  },
  json: {
    help: "Print the result line of each transaction, in the order of the file, in place of sentences.",
  },
  ...SERVICE_URL_SETTING,
  ...API_KEY_SETTINGS,
} as const;

export const submit = defineCommand({
  description:
    "Sends any number of signed transactions in requests of the size and at the rate that the service allows the key, and\n" +
    "again where that helps. After Ctrl-C, a kill or a power cut the same command goes on: nothing is sent twice, and nothing is\n" +
    "left out. The journal refuses other transactions and another chain. A failure that may pass later is tried again by the\n" +
    "next run.",
  failure: "a transaction has failed",
  examples: [
    "GAS_WAIVER_API_KEY=gw_… gas-waiver submit --url https://relay.example.com --transactions airdrop.txt",
  ],
  settings: SETTINGS,
  requires: [API_KEY],
  async run(values, context) {
    const result = await submitFile(values, context);
    if (values.json) await printLines(result.outcomes, context);
    else printResult(result, context);
    if (result.failed > 0) {
      throw new CommandFailedError(`${count(result.failed)} of ${count(result.total)} transaction(s) failed`);
    }
  },
});

async function submitFile(
  { transactions: { path, transactions }, journal, wait, ...service }: Values<typeof SETTINGS>,
  { progress, signal }: Context,
): Promise<SubmitAllResult> {
  const client = serviceClient(service);
  const journalPath = journal ?? (path && `${path}.journal`);
  const shown = new Progress(progress);
  let state: SubmitAllProgress | undefined;
  const onProgress = (next: SubmitAllProgress) => {
    state = next;
    const done = next.succeeded + next.failed;
    shown.update(done, (perSecond) => progressLine(next, perSecond), done === next.total);
  };
  try {
    const options = { wait, signal, onProgress, ...(journalPath && { journal: fileJournal(journalPath) }) };
    return await client.submitAll(transactions, options);
  } catch (error) {
    const rest = journalPath === undefined ? "" : ": the same command goes on";
    const done = state
      ? `${count(state.succeeded)} of ${count(state.total)} have succeeded${rest}`
      : `nothing was sent`;
    if (signal.aborted) throw new IncompleteError(`interrupted, ${done}`, { cause: error });
    if (!(error instanceof WaiverClientError)) throw error;
    throw new CommandFailedError(`${error.message}; ${done}`, { cause: error });
  } finally {
    shown.end();
  }
}

async function printLines(outcomes: readonly ResultLine[], { write }: Context): Promise<void> {
  for (const line of outcomes) await write(`${JSON.stringify(line)}\n`);
}

/** Failures printed one by one; `--json` has them all. */
const MAX_FAILURES = 20;

function printResult({ outcomes, total, succeeded }: SubmitAllResult, { print }: Context): void {
  const failures = outcomes.filter((line) => !line.success);
  for (const { index, error } of failures.slice(0, MAX_FAILURES)) {
    print(`transaction ${index + 1}: ${error.reason ?? error.code}: ${error.message}`);
  }
  if (failures.length > MAX_FAILURES)
    print(`… and ${count(failures.length - MAX_FAILURES)} more; --json has them all`);
  print(`${count(succeeded)} of ${count(total)} transaction(s) have succeeded`);
}
