// The output of the governance commands, as lines for a person and as JSON for a program.
import { type AllowedTarget, allowedTargetsToJson, bytesToHex, checksumAddress } from "@gas-waiver/protocol";
import type { Context } from "../command.js";
import { countVotes, type Proposal, requiredYesVotes } from "./proposal.js";
import type { Registry, Waiver } from "./registry.js";

export interface Overview {
  readonly waivers: readonly Waiver[];
  readonly validators: readonly Uint8Array[];
  readonly proposals: readonly Proposal[];
}

export function overviewJson({ waivers, validators, proposals }: Overview) {
  return {
    waivers: waivers.map(({ address, targets }) => ({
      address: checksumAddress(address),
      targets: allowedTargetsToJson(targets),
    })),
    validators: validators.map((address) => checksumAddress(address)),
    proposals: proposals.map(proposalJson),
  };
}

export function proposalJson(proposal: Proposal) {
  const { id, kind, status, subject, proposer, expiresAt, targets, votes } = proposal;
  return {
    id: Number(id),
    kind,
    status,
    subject: checksumAddress(subject),
    proposer: checksumAddress(proposer),
    expiresAt: expiresAt.toISOString(),
    ...(targets && { targets: allowedTargetsToJson(targets) }),
    votes: votes.map(({ validator, choice }) => ({ validator: checksumAddress(validator), vote: choice })),
    yes: countVotes(proposal, "yes"),
    no: countVotes(proposal, "no"),
    needed: requiredYesVotes(proposal),
  };
}

export function overviewLines({ waivers, validators, proposals }: Overview): string[] {
  return [
    waivers.length === 0 ? "No waivers." : "Waivers:",
    ...waivers.flatMap(({ address, targets }) => [
      `  ${checksumAddress(address)}`,
      ...targetLines(targets, "    "),
    ]),
    "",
    "Validators:",
    ...validators.map((address) => `  ${checksumAddress(address)}`),
    "",
    proposals.length === 0 ? "No open proposals." : "Open proposals:",
    ...proposals.map((proposal) => `  ${headline(proposal)}; ${tally(proposal)}`),
  ];
}

export function proposalLines(proposal: Proposal): string[] {
  const { status, proposer, expiresAt, targets, votes } = proposal;
  return [
    headline(proposal),
    `  status    ${status}`,
    `  proposer  ${checksumAddress(proposer)}`,
    `  expires   ${expiresAt.toISOString()}`,
    ...(targets ? ["  targets", ...targetLines(targets, "    ")] : []),
    "  votes",
    ...votes.map(({ validator, choice }) => `    ${checksumAddress(validator)}  ${choice}`),
    ...(status === "open" ? [`  ${tally(proposal)}`] : []),
  ];
}

function headline({ id, kind, subject }: Proposal): string {
  return `proposal ${id}: ${kind} ${checksumAddress(subject)}`;
}

/** The yes votes of an open proposal, and how many more it needs. */
export function tally(proposal: Proposal): string {
  const yes = countVotes(proposal, "yes");
  const needed = requiredYesVotes(proposal);
  const total = proposal.votes.length;
  const missing = needed - yes;
  if (missing <= 0) return `${yes} of ${total} validators are for it, which carries it at the next vote`;
  return `${yes} of ${total} validators are for it, ${missing} more must be`;
}

/** The most targets that are printed for a person. The JSON has all of them. */
const MAX_PRINTED_TARGETS = 20;

function targetLines(targets: readonly AllowedTarget[], indent: string): string[] {
  if (targets.length === 0) return [`${indent}may send nothing: its list of targets is empty`];
  const lines = targets.slice(0, MAX_PRINTED_TARGETS).map(({ address, selectors }) => {
    const contract = address === "*" ? "any contract".padEnd(42) : checksumAddress(address);
    return `${indent}${contract}  ${selectors?.map(bytesToHex).join(" ") ?? "any calldata"}`;
  });
  const omitted = targets.length - MAX_PRINTED_TARGETS;
  return omitted > 0 ? [...lines, `${indent}and ${omitted} more; --json has them all`] : lines;
}

/** Reads a proposal from the chain and prints it, as lines or as JSON. */
export async function printProposal(
  registry: Registry,
  id: bigint,
  { json, print }: { readonly json: boolean | undefined; readonly print: Context["print"] },
): Promise<void> {
  const proposal = await registry.proposal(id);
  if (json) print(JSON.stringify(proposalJson(proposal)));
  else for (const line of proposalLines(proposal)) print(line);
}
