import { encodeCall } from "@gas-waiver/protocol";
import { defineCommand } from "../../command.js";
import { proposalIn, TARGETS } from "../../governance/allow.js";
import { printProposal } from "../../governance/output.js";
import { sendAsValidator } from "../../governance/sendToRegistry.js";
import { VALIDATOR_ALTERNATIVES, VALIDATOR_SETTINGS } from "../../governance/settings.js";
import { printChecksumWarning } from "../../settings/checksumWarning.js";
import { address, fileOf } from "../../settings/parsers.js";
import { UsageError } from "../../settings/readSettings.js";
import { allowedTargets } from "../../settings/serviceValues.js";
import type { Values } from "../../settings/setting.js";
import { CHAIN_SETTINGS } from "./chainSettings.js";

const subject = (help: string) => ({ placeholder: "ADDRESS", help, parse: address }) as const;

const SETTINGS = {
  register: subject("Propose to register this address as a waiver, with --targets."),
  update: subject("Propose to replace this waiver's targets by --targets."),
  revoke: subject("Propose to revoke this waiver."),
  addValidator: subject("Propose to add this address to the validators."),
  removeValidator: subject("Propose to remove this validator."),
  targets: {
    placeholder: "FILE",
    help: 'JSON file of what the waiver may send: [{"address": "0x…" or "*", "selectors": ["0x…"]}].',
    parse: fileOf(allowedTargets),
  },
  ...VALIDATOR_SETTINGS,
  ...CHAIN_SETTINGS,
} as const;

export const propose = defineCommand({
  description:
    "A proposal is not a vote: the proposer votes like the others, and more than two thirds of the validators\n" +
    "carry it. Voting ends after seven days. The validator pays for the transaction.",
  examples: [
    "gas-waiver governance propose --register 0x… --targets policy.json --validator-key-file validator.key",
  ],
  settings: SETTINGS,
  rules: {
    alternatives: [
      {
        keys: ["register", "update", "revoke", "addValidator", "removeValidator"],
        subject: "what is proposed",
        required: true,
      },
      VALIDATOR_ALTERNATIVES,
    ],
    check: problemsOfTargets,
  },
  async run(values, context) {
    const receipt = await sendAsValidator(values, calldataOf(values), context.signal);
    printChecksumWarning(values.targets, { json: values.json, print: context.print });
    await printProposal(proposalIn(receipt), values, context);
  },
});

type ProposeValues = Values<typeof SETTINGS>;

/** `--targets` belongs to a registration or an update alone. */
function problemsOfTargets(values: Partial<ProposeValues>): string[] {
  const otherKind = values.revoke ?? values.addValidator ?? values.removeValidator;
  return values.targets && otherKind ? ["--targets belongs to --register and --update alone"] : [];
}

function calldataOf(values: ProposeValues): Uint8Array {
  const { register, update, revoke, addValidator, removeValidator, targets } = values;
  if ((register ?? update) !== undefined && targets === undefined) {
    throw new UsageError([`--${register ? "register" : "update"} needs --targets FILE`]);
  }
  if (register) return encodeCall(`proposeRegister(address,${TARGETS})`, register, targets ?? []);
  if (update) return encodeCall(`proposeUpdate(address,${TARGETS})`, update, targets ?? []);
  if (revoke) return encodeCall("proposeRevoke(address)", revoke);
  if (addValidator) return encodeCall("proposeAddValidator(address)", addValidator);
  if (removeValidator) return encodeCall("proposeRemoveValidator(address)", removeValidator);
  throw new Error("nothing is proposed");
}
