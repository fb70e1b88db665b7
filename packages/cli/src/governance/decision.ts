import {
  bytesEqual,
  bytesToHex,
  encodeCall,
  type Hex,
  privateKeyToAddress,
  REGISTRY_ADDRESS,
} from "@gas-waiver/protocol";
import { JsonRpcClient } from "../jsonRpcClient.js";
import { countVotes, type Kind, type Proposal } from "./proposal.js";
import { Registry } from "./registry.js";
import { sendAsValidator } from "./sendToRegistry.js";

/** A change that governance is to make. */
export interface Decision {
  readonly kind: Kind;
  /** The waiver or validator that it is about, 20 bytes. */
  readonly subject: Uint8Array;
  /** The call of the registry that proposes it. */
  readonly calldata: Uint8Array;
}

export interface DecisionMakerOptions {
  readonly rpcUrl: string | readonly string[];
  /** The private keys of validators, who propose and vote for it; none leaves both to others. */
  readonly validators: readonly Uint8Array[];
  readonly signal: AbortSignal;
}

/** Brings a decision about with the validators at hand, one call after the other: what is done already is not repeated. */
export class DecisionMaker {
  readonly registry: Registry;
  readonly #options: DecisionMakerOptions;

  constructor(options: DecisionMakerOptions) {
    this.#options = options;
    this.registry = new Registry(new JsonRpcClient(options.rpcUrl, options.signal));
  }

  /**
   * Proposes the change unless somebody has, and votes for it.
   * @returns the open proposal; undefined if nobody has proposed it, or if it is decided.
   */
  async advance(decision: Decision): Promise<Proposal | undefined> {
    let proposal = await this.#find(decision);
    const [proposer] = this.#options.validators;
    if (proposal === undefined && proposer !== undefined) {
      await this.#send(proposer, decision.calldata);
      proposal = await this.#find(decision);
    }
    for (const validator of this.#options.validators) {
      if (proposal === undefined) return undefined;
      if (this.#hasVoted(proposal, validator)) continue;
      await this.#send(validator, encodeCall("vote(uint256,bool)", proposal.id, true));
      proposal = await this.#find(decision);
    }
    return proposal;
  }

  async #find({ kind, subject }: Decision): Promise<Proposal | undefined> {
    const open = await this.registry.openProposals();
    const fitting = open.filter((one) => one.kind === kind && bytesEqual(one.subject, subject));
    return fitting.sort((a, b) => countVotes(b, "yes") - countVotes(a, "yes"))[0];
  }

  #hasVoted({ votes }: Proposal, privateKey: Uint8Array): boolean {
    const address = privateKeyToAddress(privateKey);
    return votes.some(({ validator, choice }) => choice === "yes" && bytesEqual(validator, address));
  }

  async #send(validator: Uint8Array, data: Uint8Array): Promise<void> {
    const { rpcUrl, signal } = this.#options;
    await sendAsValidator({ rpcUrl, validatorKeyFile: validator }, data, signal);
  }
}

/** The call of the registry that a validator can send by other means. */
export function callOf({ calldata }: Decision): { readonly to: Hex; readonly data: Hex } {
  return { to: bytesToHex(REGISTRY_ADDRESS), data: bytesToHex(calldata) };
}
