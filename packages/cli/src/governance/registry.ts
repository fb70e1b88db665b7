import {
  type AllowedTarget,
  type Argument,
  bytesToBigInt,
  bytesToHex,
  encodeCall,
  hexToBytes,
  REGISTRY_ADDRESS,
  ResultReader,
  UnexpectedResultError,
} from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import { type JsonRpcClient, JsonRpcError } from "../jsonRpcClient.js";
import { CHOICES, KINDS, type Proposal, STATUSES } from "./proposal.js";
import { revertMessage } from "./revertMessage.js";

export interface Waiver {
  readonly address: Uint8Array;
  readonly targets: readonly AllowedTarget[];
}

/** Reads the WaiverRegistry of a chain (D12). */
export class Registry {
  readonly #node: JsonRpcClient;

  constructor(node: JsonRpcClient) {
    this.#node = node;
  }

  async waivers(): Promise<Waiver[]> {
    const addresses = (await this.#read("listWaivers()")).addresses();
    const waiver = async (address: Uint8Array) => ({
      address,
      targets: (await this.#read("targetsOf(address)", address)).targets(),
    });
    return Promise.all(addresses.map(waiver));
  }

  async validators(): Promise<Uint8Array[]> {
    return (await this.#read("listValidators()")).addresses();
  }

  /** Reads the open proposals, by ascending id. */
  async openProposals(): Promise<Proposal[]> {
    const ids = (await this.#read("openProposals()")).uints();
    return Promise.all(ids.sort((a, b) => Number(a - b)).map((id) => this.proposal(id)));
  }

  /** @throws CommandFailedError if there is no such proposal. */
  async proposal(id: bigint): Promise<Proposal> {
    const [fields, validators] = await Promise.all([
      this.#read("getProposal(uint256)", id),
      this.validators(),
    ]);
    const kind = memberOf(KINDS, fields.uint());
    const status = memberOf(STATUSES, fields.uint());
    const [subject, proposer] = [fields.address(), fields.address()];
    fields.uint(); // the policy's version
    const expiresAt = new Date(Number(fields.uint()) * 1000);
    const hasTargets = kind === "register waiver" || kind === "update waiver";
    const targets = hasTargets ? (await this.#read("proposalTargets(uint256)", id)).targets() : undefined;
    const votes = await Promise.all(
      validators.map(async (validator) => {
        const choice = memberOf(CHOICES, (await this.#read("voteOf(uint256,address)", id, validator)).uint());
        return { validator, choice };
      }),
    );
    return { id, kind, status, subject, proposer, expiresAt, targets, votes };
  }

  async #read(signature: string, ...values: readonly Argument[]): Promise<ResultReader> {
    try {
      const result = await this.#node.call(REGISTRY_ADDRESS, encodeCall(signature, ...values));
      // A call to an address without code succeeds and returns nothing.
      if (result === "0x") throw new UnexpectedResultError("nothing");
      return new ResultReader(hexToBytes(result));
    } catch (error) {
      throw asCommandFailure(error);
    }
  }
}

/** The name of a Solidity enum's member. */
function memberOf<T>(names: readonly T[], index: bigint): T {
  const name = names[Number(index)];
  if (name === undefined) throw noRegistry();
  return name;
}

const noRegistry = () =>
  new CommandFailedError(`this chain has no WaiverRegistry at ${bytesToHex(REGISTRY_ADDRESS)}`);

/** Turns a revert of the registry, and a result that is not the registry's, into the error that ends the command. */
export function asCommandFailure(error: unknown): unknown {
  if (error instanceof UnexpectedResultError) return noRegistry();
  if (!(error instanceof JsonRpcError) || error.revert === undefined) return error;
  return new CommandFailedError(revertMessage(error.revert));
}

/** The number of a proposal, from the topic of its ProposalCreated event. */
export const proposalIdOf = (topic: string) => bytesToBigInt(hexToBytes(topic));
