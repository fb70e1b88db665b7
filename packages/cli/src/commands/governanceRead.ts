import { defineCommand } from "../command.js";
import { overviewJson, overviewLines, proposalJson, proposalLines } from "../governance/output.js";
import { Registry } from "../governance/registry.js";
import { CHAIN_SETTINGS, PROPOSAL_SETTING } from "../governance/settings.js";
import { JsonRpcClient } from "../jsonRpcClient.js";

export const list = defineCommand({
  description: "It reads the WaiverRegistry of the chain and needs no key.",
  settings: CHAIN_SETTINGS,
  agreement: {},
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

export const show = defineCommand({
  description: "Open or closed; it needs no key.",
  settings: { proposal: PROPOSAL_SETTING, ...CHAIN_SETTINGS },
  agreement: {},
  async run({ proposal: id, rpcUrl, json }, { print, signal }) {
    const proposal = await new Registry(new JsonRpcClient(rpcUrl, signal)).proposal(id);
    if (json) print(JSON.stringify(proposalJson(proposal)));
    else for (const line of proposalLines(proposal)) print(line);
  },
});
