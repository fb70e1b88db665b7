import { defineCommand } from "../../command.js";
import { overviewJson, overviewLines } from "../../governance/output.js";
import { Registry } from "../../governance/registry.js";
import { JsonRpcClient } from "../../jsonRpcClient.js";
import { CHAIN_SETTINGS } from "./chainSettings.js";

export const list = defineCommand({
  description: "The command reads the chain's WaiverRegistry and needs no key.",
  examples: [
    "gas-waiver governance list --rpc-url http://127.0.0.1:8545",
    "gas-waiver governance list --config gas-waiver.yaml",
  ],
  settings: CHAIN_SETTINGS,
  async run({ rpcUrl, json }, { print, signal }) {
    const registry = new Registry(new JsonRpcClient(rpcUrl, signal));
    const [waivers, validators, proposals] = await Promise.all([
      registry.waivers(),
      registry.validators(),
      registry.openProposals(),
    ]);
    const overview = { waivers, validators, proposals };
    if (json) print(JSON.stringify(overviewJson(overview)));
    else for (const line of overviewLines(overview)) print(line);
  },
});
