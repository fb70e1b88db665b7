import { DEFAULT_HOST, DEFAULT_RPC_PORT } from "@gas-waiver/devnet/presets";
import { encodeCall } from "@gas-waiver/protocol";
import { defineCommand } from "../command.js";
import { proposeAddition, readSelectors, TARGETS } from "../governance/allow.js";
import { overviewJson, overviewLines, printProposal } from "../governance/output.js";
import { Registry } from "../governance/registry.js";
import { PROPOSAL_SETTING, VALIDATOR, VALIDATOR_SETTINGS, validatorsOf } from "../governance/settings.js";
import { JsonRpcClient } from "../jsonRpcClient.js";
import { CONFIG_SETTING } from "../serve/serveFile.js";
import { SERVE_SETTINGS } from "../serve/serveSettings.js";
import { printChecksumWarning } from "../settings/checksumWarning.js";
import { address, fileOf } from "../settings/parsers.js";
import { UsageError } from "../settings/readSettings.js";
import { allowedTargets } from "../settings/serviceValues.js";
import type { Values } from "../settings/setting.js";

/** The settings of every governance command. The nodes are the service's own, so that its file will do. */
export const CHAIN_SETTINGS = {
  config: CONFIG_SETTING,
  rpcUrl: {
    ...SERVE_SETTINGS.rpcUrl,
    help: "JSON-RPC of nodes of the chain; one that does not answer gives way to the next.",
    required: false,
    defaultValue: `http://${DEFAULT_HOST}:${DEFAULT_RPC_PORT}`,
  },
  json: { help: "Print JSON, for programs." },
} as const;

const registryAt = (rpcUrl: readonly string[], signal: AbortSignal) =>
  new Registry(new JsonRpcClient(rpcUrl, signal));

export const list = defineCommand({
  description: "The command reads the chain's WaiverRegistry and needs no key.",
  examples: [
    "gas-waiver governance list --rpc-url http://127.0.0.1:8545",
    "gas-waiver governance list --config gas-waiver.yaml",
  ],
  settings: CHAIN_SETTINGS,
  async run({ rpcUrl, json }, { print, signal }) {
    const registry = registryAt(rpcUrl, signal);
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
  description: "The proposal may be open or closed. The command needs no key.",
  examples: ["gas-waiver governance show --proposal 1"],
  settings: { proposal: PROPOSAL_SETTING, ...CHAIN_SETTINGS },
  run: ({ proposal, rpcUrl, json }, { print, signal }) =>
    printProposal(registryAt(rpcUrl, signal), proposal, { json, print }),
});

const PROPOSED = "what is proposed";

const proposed = (help: string) =>
  ({ placeholder: "ADDRESS", subject: PROPOSED, help, parse: address }) as const;

const PROPOSE_SETTINGS = {
  register: proposed("Propose to register this address as a waiver, with --targets."),
  update: proposed("Propose to replace this waiver's targets by --targets."),
  revoke: proposed("Propose to revoke this waiver."),
  addValidator: proposed("Propose to add this address to the validators."),
  removeValidator: proposed("Propose to remove this validator."),
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
  settings: PROPOSE_SETTINGS,
  requires: [PROPOSED, VALIDATOR],
  check: problemsOfTargets,
  async run(values, { print, signal }) {
    const { rpcUrl, json, targets } = values;
    const registry = registryAt(rpcUrl, signal);
    const id = await registry.propose(validatorsOf(values)[0], calldataOf(values));
    printChecksumWarning(targets, { json, print });
    await printProposal(registry, id, { json, print });
  },
});

type ProposeValues = Values<typeof PROPOSE_SETTINGS>;

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

const VOTE = "the vote";

export const vote = defineCommand({
  description:
    "A validator can change its vote until the proposal is carried or expires. The vote that makes more than two\n" +
    "thirds carries the proposal at once, in the same transaction. The validator pays for the transaction.",
  examples: ["gas-waiver governance vote --proposal 1 --yes --validator-key-file validator.key"],
  settings: {
    proposal: PROPOSAL_SETTING,
    yes: { subject: VOTE, help: "Vote for the proposal." },
    no: { subject: VOTE, help: "Vote against the proposal." },
    ...VALIDATOR_SETTINGS,
    ...CHAIN_SETTINGS,
  },
  requires: [VOTE, VALIDATOR],
  async run(values, { print, signal }) {
    const { proposal, yes, rpcUrl, json } = values;
    const registry = registryAt(rpcUrl, signal);
    await registry.vote(validatorsOf(values)[0], proposal, yes === true);
    await printProposal(registry, proposal, { json, print });
  },
});

const ALLOW_SETTINGS = {
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
    subject: VALIDATOR,
    help: "Propose and vote as the devnet's validators, so that it is carried at once. Their keys are public.",
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
  settings: ALLOW_SETTINGS,
  requires: [VALIDATOR],
  async run(values, { print, signal }) {
    const { rpcUrl, json, waiver, target, selectors, dev } = values;
    const registry = registryAt(rpcUrl, signal);
    const validators = validatorsOf(values);
    const added = { address: target, ...(selectors && { selectors }) };
    const id = await proposeAddition(registry, { waiver, added, validators, votes: dev === true });
    if (id !== undefined) return printProposal(registry, id, { json, print });
    print(json ? "null" : "the waiver may send that already: nothing is proposed");
  },
});
