import { createWaiverClient } from "@gas-waiver/client";
import { defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { explain as collect } from "../explain/explain.js";
import { explanationLines } from "../explain/explainOutput.js";
import { parseSubject } from "../explain/subject.js";
import { switchedOn, text, url } from "../settings/parsers.js";
import { secretFileOf } from "../settings/secretFile.js";

const SETTINGS = {
  subject: {
    positional: true,
    placeholder: "ID|HASH|TRANSACTION",
    help: "The id of a submission, the hash of a transaction, or the signed transaction.",
    required: true,
    parse: parseSubject,
  },
  url: {
    flag: "url",
    env: "GAS_WAIVER_URL",
    placeholder: "URL",
    help: "Base address of the service.",
    defaultValue: "http://127.0.0.1:8080",
    parse: url("http:", "https:"),
  },
  rpcUrl: {
    flag: "rpc-url",
    env: "GAS_WAIVER_RPC_URL",
    placeholder: "URL",
    help: "JSON-RPC of a node of the chain.",
    defaultValue: "http://127.0.0.1:8545",
    parse: url("http:", "https:"),
  },
  json: { flag: "json", help: "Print JSON, for programs.", parse: switchedOn },
  apiKeyFile: {
    flag: "api-key-file",
    env: "GAS_WAIVER_API_KEY_FILE",
    placeholder: "FILE",
    help: "File of the API key, readable for its owner only.",
    parse: secretFileOf((content) => content.trim()),
  },
  apiKey: { env: "GAS_WAIVER_API_KEY", help: "The API key.", secret: true, parse: text },
} as const;

export const explain = defineCommand({
  description:
    "Takes the id of a line, the hash of a transaction, or the signed bytes as 0x hex. The answer has what happened and what to\n" +
    "do next, then the facts: the decoded transaction, the service's record, the policy, nonces and balance, a dry run of what\n" +
    "was never submitted, and the trace of what reverted, where the node traces. The command only reads.\n\n" +
    "Example:\n" +
    "  GAS_WAIVER_API_KEY=gw_dev_local gas-waiver explain 0x…",
  settings: SETTINGS,
  rules: {
    alternatives: [{ keys: ["apiKeyFile", "apiKey"], subject: "the API key", required: true }],
  },
  async run({ subject, url: address, rpcUrl, json, apiKeyFile, apiKey }, { print, signal }) {
    const key = apiKeyFile ?? apiKey;
    const client = createWaiverClient({ url: address, ...(key !== undefined && { apiKey: key }) });
    const explanation = await collect(subject, { client, url: address, rpcUrl, signal });
    if (json) print(JSON.stringify(explanation));
    else for (const line of explanationLines(explanation)) print(line);
    if (explanation.service.trouble !== undefined && explanation.node.trouble !== undefined)
      throw new CommandFailedError("neither the service nor the node gave an answer");
  },
});
