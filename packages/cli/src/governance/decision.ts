import { bytesEqual, privateKeyToAddress } from "@gas-waiver/protocol";
import { countVotes, type Kind, type Proposal } from "./proposal.js";
import type { Registry } from "./registry.js";

/** A change that governance is to make. */
export interface Decision {
  readonly kind: Kind;
  /** The waiver or validator that it is about, 20 bytes. */
  readonly subject: Uint8Array;
  /** The call of the registry that proposes it. */
  readonly calldata: Uint8Array;
}

export type DecisionMaker = ReturnType<typeof createDecisionMaker>;

/**
 * Brings a decision about with the validators at hand, one call after the other: what is done already is not repeated.
 * @param validators the private keys of validators, who propose and vote for it; none leaves both to others.
 */
export function createDecisionMaker(registry: Registry, validators: readonly Uint8Array[]) {
  const find = async ({ kind, subject }: Decision) => {
    const open = await registry.openProposals();
    const fitting = open.filter((one) => one.kind === kind && bytesEqual(one.subject, subject));
    return fitting.sort((a, b) => countVotes(b, "yes") - countVotes(a, "yes"))[0];
  };
  return {
    registry,
    /**
     * Proposes the change unless somebody has, and votes for it.
     * @returns the open proposal; undefined if nobody has proposed it, or if it is decided.
     */
    async advance(decision: Decision): Promise<Proposal | undefined> {
      let proposal = await find(decision);
      const [proposer] = validators;
      if (proposal === undefined && proposer !== undefined) {
        await registry.propose(proposer, decision.calldata);
        proposal = await find(decision);
      }
      for (const validator of validators) {
        if (proposal === undefined) return undefined;
        if (hasVoted(proposal, validator)) continue;
        await registry.vote(validator, proposal.id, true);
        proposal = await find(decision);
      }
      return proposal;
    },
  };
}

function hasVoted({ votes }: Proposal, privateKey: Uint8Array): boolean {
  const address = privateKeyToAddress(privateKey);
  return votes.some(({ validator, choice }) => choice === "yes" && bytesEqual(validator, address));
}
