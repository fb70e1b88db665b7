import type { AllowedTarget } from "@gas-waiver/protocol";

/** The kinds of proposals, in the order of the contract's enum. */
export const KINDS = [
  "register waiver",
  "update waiver",
  "revoke waiver",
  "add validator",
  "remove validator",
] as const;
export type Kind = (typeof KINDS)[number];

/**
 * The states of a proposal, in the order of the contract's enum. `voided`: it had the votes, but its action had become
 * impossible by then.
 */
export const STATUSES = ["unknown", "open", "carried", "voided", "expired"] as const;
export type Status = (typeof STATUSES)[number];

/** The choices of a validator, in the order of the contract's enum. */
export const CHOICES = ["none", "yes", "no"] as const;
export type Choice = (typeof CHOICES)[number];

/** A proposal with its votes, from the registry. Addresses are 20 bytes. */
export interface Proposal {
  readonly id: bigint;
  readonly kind: Kind;
  readonly status: Status;
  readonly subject: Uint8Array;
  readonly proposer: Uint8Array;
  /** The last second in which validators can vote. */
  readonly expiresAt: Date;
  /** The targets that the waiver would have, for proposals to register and to update. */
  readonly targets: readonly AllowedTarget[] | undefined;
  /** One entry for each present validator. */
  readonly votes: readonly { readonly validator: Uint8Array; readonly choice: Choice }[];
}

export const countVotes = ({ votes }: Proposal, choice: Choice): number =>
  votes.filter((vote) => vote.choice === choice).length;

/** The least number of yes votes that is more than two thirds of the validators. */
export const requiredYesVotes = ({ votes }: Proposal): number => Math.floor((votes.length * 2) / 3) + 1;
