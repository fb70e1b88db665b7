import { bytesToHex, encodeCall, REGISTRY_ADDRESS, topicOf } from "@gas-waiver/protocol";
import { type Context, defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { proposalJson, proposalLines } from "../governance/output.js";
import { idOfTopic, Registry } from "../governance/registry.js";
import { sendToRegistry } from "../governance/sendToRegistry.js";
import {
  CHAIN_SETTINGS,
  PROPOSAL_SETTING,
  VALIDATOR_ALTERNATIVES,
  VALIDATOR_SETTINGS,
} from "../governance/settings.js";
import { JsonRpcClient, type Receipt } from "../jsonRpcClient.js";
import { address, allowedTargets, fileOf, given } from "../settings/parsers.js";
import { UsageError } from "../settings/readSettings.js";
import type { Values } from "../settings/setting.js";

const subject = (flag: string, help: string) =>
  ({ flag, placeholder: "ADDRESS", help, parse: address }) as const;

const PROPOSE = {
  register: subject("register", "Make the address a waiver, with --targets."),
  update: subject("update", "Replace all that the waiver may send by --targets."),
  revoke: subject("revoke", "Make the waiver none."),
  addValidator: subject("add-validator", "Make the address a validator."),
  removeValidator: subject("remove-validator", "Make the validator none."),
  targets: {
    flag: "targets",
    placeholder: "FILE",
    help: 'What the waiver may send, as JSON: [{"address": "0x…" or "*", "selectors": ["0x…"]}].',
    parse: fileOf(allowedTargets),
  },
  ...VALIDATOR_SETTINGS,
  ...CHAIN_SETTINGS,
} as const;

export const propose = defineCommand({
  description:
    "A proposal is not a vote: the proposer votes like the others, and more than two thirds of the validators\n" +
    "carry it. It can be voted on for seven days. The validator pays for the transaction.",
  settings: PROPOSE,
  agreement: {
    alternatives: [
      {
        of: ["register", "update", "revoke", "addValidator", "removeValidator"],
        what: "what is proposed",
        required: true,
      },
      VALIDATOR_ALTERNATIVES,
    ],
    check: problemsOfTargets,
  },
  async run(values, context) {
    const receipt = await act(values, callOf(values), context);
    const registry = bytesToHex(REGISTRY_ADDRESS);
    const created = topicOf("ProposalCreated(uint256,uint8,address,address,uint64,uint64)");
    const log = receipt.logs.find(({ address: at, topics: [first] }) => at === registry && first === created);
    const id = log?.topics[1];
    if (id === undefined) throw new CommandFailedError("the registry tells of no new proposal");
    await report(idOfTopic(id), values, context);
  },
});

type Proposed = Values<typeof PROPOSE>;

/** Targets come with a registration or an update and with nothing else, and each of them permits something. */
function problemsOfTargets({ targets, ...values }: Partial<Proposed>): string[] {
  const { register, update, revoke, addValidator, removeValidator } = values;
  if (targets === undefined) return [];
  const empty = targets.findIndex(({ selectors }) => selectors?.length === 0);
  const other = revoke ?? addValidator ?? removeValidator;
  return [
    ...(other && !register && !update ? ["--targets belongs to --register and --update alone"] : []),
    ...(empty < 0
      ? []
      : [
          `--targets: entry ${empty} has an empty list of selectors and would permit nothing; without selectors it permits any calldata`,
        ]),
  ];
}

function callOf(values: Proposed): Uint8Array {
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

/** AllowedTarget[] of the contract. */
const TARGETS = "(address,bool,bool,bytes4[])[]";

export const vote = defineCommand({
  description:
    "A vote can be changed until the proposal is carried or expires. The vote that makes more than two thirds\n" +
    "carries it at once, in the same transaction. The validator pays for the transaction.",
  settings: {
    proposal: PROPOSAL_SETTING,
    yes: { flag: "yes", help: "Vote for it.", parse: given },
    no: { flag: "no", help: "Vote against it.", parse: given },
    ...VALIDATOR_SETTINGS,
    ...CHAIN_SETTINGS,
  },
  agreement: {
    alternatives: [{ of: ["yes", "no"], what: "the vote", required: true }, VALIDATOR_ALTERNATIVES],
  },
  async run(values, context) {
    const { proposal, yes } = values;
    await act(values, encodeCall("vote(uint256,bool)", proposal, yes === true), context);
    await report(proposal, values, context);
  },
});

type Actor = Values<typeof VALIDATOR_SETTINGS> & Values<typeof CHAIN_SETTINGS>;

async function act(values: Actor, data: Uint8Array, { signal }: Context): Promise<Receipt> {
  const key = values.validatorKeyFile ?? values.devValidator;
  if (key === undefined) throw new Error("no validator is named");
  const { receipt } = await sendToRegistry(new JsonRpcClient(values.rpcUrl, signal), data, key, signal);
  return receipt;
}

async function report(id: bigint, { rpcUrl, json }: Actor, { print, signal }: Context): Promise<void> {
  const proposal = await new Registry(new JsonRpcClient(rpcUrl, signal)).proposal(id);
  if (json) print(JSON.stringify(proposalJson(proposal)));
  else for (const line of proposalLines(proposal)) print(line);
}
