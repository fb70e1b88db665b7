import { defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { Abi, abiEntries } from "../explain/abi.js";
import { explain as collect } from "../explain/explain.js";
import { explanationLines } from "../explain/explainOutput.js";
import { parseSubject } from "../explain/subject.js";
import { NODE_URL_SETTING } from "../jsonRpcClient.js";
import { entriesOf, fileOf } from "../settings/parsers.js";
import { API_KEY, API_KEY_SETTINGS, SERVICE_URL_SETTING, serviceClient } from "../settings/serviceClient.js";

const SETTINGS = {
  subject: {
    positional: true,
    placeholder: "ID|HASH|TRANSACTION",
    help: "The id of a submission, the hash of a transaction, or the signed transaction.",
    required: true,
    parse: parseSubject,
  },
  ...SERVICE_URL_SETTING,
  rpcUrl: {
    ...NODE_URL_SETTING,
    help: "JSON-RPC of a node of the chain.",
    defaultValue: "http://127.0.0.1:8545",
  },
  abi: {
    placeholder: "FILE",
    help: "JSON ABI of a contract, or a compiler's output with one, by which calldata and revert data are decoded; several, separated by commas.",
    repeatable: true,
    parse: (list: string) => new Abi(entriesOf(list).flatMap(fileOf(abiEntries))),
  },
  json: { help: "Print JSON, for programs." },
  ...API_KEY_SETTINGS,
} as const;

export const explain = defineCommand({
  description:
    "Takes the id of a line, the hash of a transaction, or the signed bytes as 0x hex. The answer has what happened and what to\n" +
    "do next, then the facts: the decoded transaction, the service's record, the policy, nonces and balance, a dry run of what\n" +
    "was never submitted, and the trace of what reverted, where the node traces. The command only reads.",
  examples: [
    "GAS_WAIVER_API_KEY=gw_dev_local gas-waiver explain 0x…",
    "GAS_WAIVER_API_KEY=gw_dev_local gas-waiver explain 0x… --abi out/Vault.sol/Vault.json",
  ],
  settings: SETTINGS,
  requires: [API_KEY],
  async run({ subject, rpcUrl, abi, json, ...service }, { print, signal }) {
    const client = serviceClient(service);
    const explanation = await collect(subject, { client, url: service.url, rpcUrl, abi, signal });
    if (json) print(JSON.stringify(explanation));
    else for (const line of explanationLines(explanation)) print(line);
    if (explanation.service.trouble !== undefined && explanation.node.trouble !== undefined)
      throw new CommandFailedError("neither the service nor the node gave an answer");
  },
});
