import type { AllowedTarget } from "@gas-waiver/protocol";

/** In the order of the contract's enum. */
export const KINDS = [
  "register waiver",
  "update waiver",
  "revoke waiver",
  "add validator",
  "remove validator",
] as const;
export type Kind = (typeof KINDS)[number];

/** In the order of the contract's enum. `voided`: carried by votes, but no longer possible by then. */
export const STATUSES = ["unknown", "open", "carried", "voided", "expired"] as const;
export type Status = (typeof STATUSES)[number];

/** In the order of the contract's enum. */
export const CHOICES = ["none", "yes", "no"] as const;
export type Choice = (typeof CHOICES)[number];

/** A proposal with its votes, as the registry has them. Addresses are 20 bytes. */
export interface Proposal {
  readonly id: bigint;
  readonly kind: Kind;
  readonly status: Status;
  readonly subject: Uint8Array;
  readonly proposer: Uint8Array;
  /** The last second in which it can be voted on. */
  readonly expiresAt: Date;
  /** What the waiver may reach; of proposals to register and to update. */
  readonly targets: readonly AllowedTarget[] | undefined;
  /** Of everybody who is a validator now. */
  readonly votes: readonly { readonly validator: Uint8Array; readonly choice: Choice }[];
}

export const countOf = ({ votes }: Proposal, choice: Choice): number =>
  votes.filter((vote) => vote.choice === choice).length;

/** The least number of yes votes that is more than two thirds of the validators. */
export const neededOf = ({ votes }: Proposal): number => Math.floor((votes.length * 2) / 3) + 1;
