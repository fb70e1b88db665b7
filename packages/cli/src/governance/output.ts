// The output of the governance commands, as lines for a person and as JSON for a program.
import { type AllowedTarget, allowedTargetsToJson, bytesToHex, checksumAddress } from "@gas-waiver/protocol";
import { countOf, neededOf, type Proposal } from "./proposal.js";
import type { Waiver } from "./registry.js";

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
    yes: countOf(proposal, "yes"),
    no: countOf(proposal, "no"),
    needed: neededOf(proposal),
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
    ...proposals.map((proposal) => `  ${headline(proposal)}; ${standing(proposal)}`),
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
    ...(status === "open" ? [`  ${standing(proposal)}`] : []),
  ];
}

function headline({ id, kind, subject }: Proposal): string {
  return `proposal ${id}: ${kind} ${checksumAddress(subject)}`;
}

/** The count of votes for an open proposal, and the number of missing ones. */
export function standing(proposal: Proposal): string {
  const yes = countOf(proposal, "yes");
  const needed = neededOf(proposal);
  const total = proposal.votes.length;
  const missing = needed - yes;
  if (missing <= 0) return `${yes} of ${total} validators are for it, which carries it at the next vote`;
  return `${yes} of ${total} validators are for it, ${missing} more must be`;
}

/** The lines for a person stop after this many targets. The JSON has them all. */
const MOST_TARGETS = 20;

function targetLines(targets: readonly AllowedTarget[], indent: string): string[] {
  if (targets.length === 0) return [`${indent}may send nothing: its list of targets is empty`];
  const lines = targets.slice(0, MOST_TARGETS).map(({ address, selectors }) => {
    const where = address === "*" ? "any contract".padEnd(42) : checksumAddress(address);
    return `${indent}${where}  ${selectors?.map(bytesToHex).join(" ") ?? "any calldata"}`;
  });
  const more = targets.length - MOST_TARGETS;
  return more > 0 ? [...lines, `${indent}and ${more} more; --json has them all`] : lines;
}
