import { defineCommand } from "../../command.js";
import { printProposal } from "../../governance/output.js";
import { PROPOSAL_SETTING } from "../../governance/settings.js";
import { CHAIN_SETTINGS } from "./chainSettings.js";

export const show = defineCommand({
  description: "The proposal may be open or closed. The command needs no key.",
  examples: ["gas-waiver governance show --proposal 1"],
  settings: { proposal: PROPOSAL_SETTING, ...CHAIN_SETTINGS },
  run: ({ proposal, ...chain }, context) => printProposal(proposal, chain, context),
});
