import {
  type AllowedTarget,
  type Argument,
  bytesToBigInt,
  bytesToHex,
  encodeCall,
  type Hex,
  hexToBytes,
  privateKeyToAddress,
  REGISTRY_ADDRESS,
  ResultReader,
  signTransaction,
  topicOf,
  UnexpectedResultError,
} from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import { type JsonRpcClient, JsonRpcError, type Receipt } from "../jsonRpcClient.js";
import { CHOICES, KINDS, type Proposal, STATUSES } from "./proposal.js";
import { revertMessage } from "./revertMessage.js";

export interface Waiver {
  readonly address: Uint8Array;
  readonly targets: readonly AllowedTarget[];
}

/** Another vote that lands first may make this one carry the proposal, which costs more gas than the estimate. */
const GAS_MARGIN = 200_000n;

const CREATED = topicOf("ProposalCreated(uint256,uint8,address,address,uint64,uint64)");

/**
 * The WaiverRegistry of a chain (D12). A validator pays for what it sends. A call that the registry would refuse is not
 * sent: the gas estimate fails first.
 */
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

  /**
   * Proposes a change as a validator.
   * @returns the number of the proposal.
   * @throws CommandFailedError with the registry's or the node's reason.
   */
  async propose(privateKey: Uint8Array | undefined, calldata: Uint8Array): Promise<bigint> {
    const { logs } = await this.#send(privateKey, calldata);
    const registry = bytesToHex(REGISTRY_ADDRESS);
    const created = ({ address, topics }: Receipt["logs"][number]) =>
      address === registry && topics[0] === CREATED;
    const id = logs.find(created)?.topics[1];
    if (id === undefined)
      throw new CommandFailedError("the transaction has no ProposalCreated event of the registry");
    return bytesToBigInt(hexToBytes(id));
  }

  /** Votes as a validator. @throws CommandFailedError with the registry's or the node's reason. */
  async vote(privateKey: Uint8Array | undefined, id: bigint, isYes: boolean): Promise<void> {
    await this.#send(privateKey, encodeCall("vote(uint256,bool)", id, isYes));
  }

  /** Sends a transaction of a validator, and waits for its block. */
  async #send(privateKey: Uint8Array | undefined, data: Uint8Array): Promise<Receipt> {
    if (privateKey === undefined) throw new Error("no validator is named");
    const node = this.#node;
    const from = bytesToHex(privateKeyToAddress(privateKey));
    const call = { from, to: bytesToHex(REGISTRY_ADDRESS), data: bytesToHex(data) };
    try {
      const [gas, gasPrice, nonce, chainId] = await Promise.all([
        node.quantity("eth_estimateGas", [call]),
        node.quantity("eth_gasPrice"),
        node.quantity("eth_getTransactionCount", [from, "pending"]),
        node.quantity("eth_chainId"),
      ]);
      const fields = { type: "legacy", to: REGISTRY_ADDRESS, value: 0n, data } as const;
      const gasLimit = gas + GAS_MARGIN;
      const { raw } = signTransaction({ ...fields, chainId, nonce, gasPrice, gasLimit }, privateKey);
      const hash = await node.request<Hex>("eth_sendRawTransaction", [bytesToHex(raw)]);
      const receipt = await node.inclusion(hash);
      if (BigInt(receipt.status) === 1n) return receipt;
      // The estimate passed, so the state has changed since. The same call on the new state fails with the reason.
      await node.request("eth_call", [call, "latest"]);
      throw new CommandFailedError(`transaction ${hash} reverted in block ${BigInt(receipt.blockNumber)}`);
    } catch (error) {
      throw asCommandFailure(error);
    }
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
function asCommandFailure(error: unknown): unknown {
  if (error instanceof UnexpectedResultError) return noRegistry();
  if (!(error instanceof JsonRpcError) || error.revert === undefined) return error;
  return new CommandFailedError(revertMessage(error.revert));
}
