import { accountsOf } from "@gas-waiver/devnet/presets";
import { hexToBytes } from "@gas-waiver/protocol";
import { defineCommand } from "../../command.js";
import { proposeAddition, readSelectors } from "../../governance/allow.js";
import { printProposal } from "../../governance/output.js";
import { VALIDATOR_ALTERNATIVES, VALIDATOR_SETTINGS } from "../../governance/settings.js";
import { address, switchedOn } from "../../settings/parsers.js";
import { CHAIN_SETTINGS } from "./chainSettings.js";

const SETTINGS = {
  waiver: {
    placeholder: "ADDRESS",
    help: "The registered waiver that is to send more.",
    required: true,
    parse: address,
  },
  target: {
    placeholder: "ADDRESS",
    help: "The contract that it is to call, or * for any.",
    required: true,
    parse: (text: string) => (text === "*" ? ("*" as const) : address(text)),
  },
  selectors: {
    placeholder: "LIST",
    help: "The methods, separated by commas: selectors, or signatures such as mint(address,uint256).",
    defaultText: "any calldata",
    parse: readSelectors,
  },
  dev: {
    help: "Propose and vote as the devnet's validators, so that it is carried at once. Their keys are public.",
    parse: switchedOn,
  },
  ...VALIDATOR_SETTINGS,
  ...CHAIN_SETTINGS,
} as const;

export const allow = defineCommand({
  description:
    "What the waiver may send already stays allowed; `governance propose --update` replaces it.\n" +
    "Except with --dev, the command only proposes, and the validators vote.",
  examples: [
    "gas-waiver governance allow --dev --waiver 0x… --target 0x… --selectors 'mint(address,uint256)'",
  ],
  settings: SETTINGS,
  rules: {
    alternatives: [{ ...VALIDATOR_ALTERNATIVES, keys: [...VALIDATOR_ALTERNATIVES.keys, "dev"] }],
  },
  async run(values, context) {
    const { rpcUrl, waiver, target, selectors, dev, validatorKeyFile, devValidator } = values;
    const own = validatorKeyFile ?? devValidator;
    const validators = own ? [own] : accountsOf("validator").map(({ privateKey }) => hexToBytes(privateKey));
    const added = { address: target, ...(selectors && { selectors }) };
    const { signal } = context;
    const id = await proposeAddition({ rpcUrl, waiver, added, validators, votes: dev === true, signal });
    if (id !== undefined) return printProposal(id, values, context);
    context.print(values.json ? "null" : "the waiver may send that already: nothing is proposed");
  },
});
