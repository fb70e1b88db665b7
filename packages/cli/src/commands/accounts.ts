import { DEFAULT_HOST, DEFAULT_RPC_PORT } from "@gas-waiver/devnet/presets";
import { defineCommand } from "../command.js";
import { accountLines, accountsJson, readHoldings } from "../demo/accounts.js";
import { url } from "../settings/parsers.js";

export const accounts = defineCommand({
  description:
    "The accounts of the devnet, with their addresses, private keys and roles, and what they hold on a running one.",
  examples: ["gas-waiver accounts --rpc-url http://127.0.0.1:8545"],
  settings: {
    rpcUrl: {
      placeholder: "URL",
      help: "JSON-RPC URL of the devnet.",
      defaultValue: `http://${DEFAULT_HOST}:${DEFAULT_RPC_PORT}`,
      parse: url("http:", "https:"),
    },
    json: { help: "Print JSON, for programs." },
  },
  async run({ rpcUrl, json }, { print, signal }) {
    const holdings = await readHoldings(rpcUrl, signal);
    if (json) print(JSON.stringify(accountsJson(holdings)));
    else for (const line of accountLines(holdings)) print(line);
  },
});
