import { encodeCall } from "@gas-waiver/protocol";
import { defineCommand } from "../../command.js";
import { printProposal } from "../../governance/output.js";
import { sendAsValidator } from "../../governance/sendToRegistry.js";
import { PROPOSAL_SETTING, VALIDATOR_ALTERNATIVES, VALIDATOR_SETTINGS } from "../../governance/settings.js";
import { switchedOn } from "../../settings/parsers.js";
import { CHAIN_SETTINGS } from "./chainSettings.js";

export const vote = defineCommand({
  description:
    "A validator can change its vote until the proposal is carried or expires. The vote that makes more than two\n" +
    "thirds carries the proposal at once, in the same transaction. The validator pays for the transaction.",
  examples: ["gas-waiver governance vote --proposal 1 --yes --validator-key-file validator.key"],
  settings: {
    proposal: PROPOSAL_SETTING,
    yes: { help: "Vote for the proposal.", parse: switchedOn },
    no: { help: "Vote against the proposal.", parse: switchedOn },
    ...VALIDATOR_SETTINGS,
    ...CHAIN_SETTINGS,
  },
  rules: {
    alternatives: [{ keys: ["yes", "no"], subject: "the vote", required: true }, VALIDATOR_ALTERNATIVES],
  },
  async run(values, context) {
    const { proposal, yes } = values;
    await sendAsValidator(values, encodeCall("vote(uint256,bool)", proposal, yes === true), context.signal);
    await printProposal(proposal, values, context);
  },
});
