import {
  type AllowedTarget,
  encodeCall,
  type Hex,
  hexToBytes,
  policyTargetsCall,
  REGISTRY_ADDRESS,
  readPolicyTargets,
  signTransaction,
} from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { Chain } from "../chain/chain.js";
import { type DevnetAccount, devnetAccount } from "../presets/accounts.js";
import { GENESIS_TARGETS } from "../presets/constants.js";
import { policyVersion } from "../registry/policy.js";
import { proposalCount, validatorsAt } from "../registry/voting.js";
import { type Action, InvalidChangeError, type RegistryChange } from "./registryChange.js";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
interface Planned extends Mutable<RegistryChange> {
  /** The targets of a registration; undefined for those that {@link Governance.plan} chooses. */
  readonly targets: readonly AllowedTarget[] | undefined;
  attempts: number;
}

const PROPOSE_REGISTER = "proposeRegister(address,(address,bool,bool,bytes4[])[])";
const PROPOSE_REVOKE = "proposeRevoke(address)";
const VOTE = "vote(uint256,bool)";
const GAS = { propose: 10_000_000n, vote: 1_000_000n };
/** A change is tried again if another proposal in the same block takes the number that its votes name. */
const ATTEMPTS = 3;
const MAX_REMEMBERED_CHANGES = 100;

/**
 * Revokes and registers waivers as validators do. One of the devnet's own validators proposes and more than two thirds
 * vote, in ordinary transactions in one block. The registry thus emits its usual events.
 */
export class Governance {
  readonly #chain: Chain;
  readonly #planned: Planned[] = [];
  /** The targets that waivers had when they were revoked here. */
  readonly #lastTargets = new Map<Hex, readonly AllowedTarget[]>();

  constructor(chain: Chain) {
    this.#chain = chain;
    chain.beforeBlock((number) => this.#sendDue(number));
    chain.onBlock((block) => this.#updateStates(block));
  }

  get head(): number {
    return this.#chain.head.number;
  }

  get changes(): readonly RegistryChange[] {
    return this.#planned.map(({ targets: _, attempts: __, ...change }) => change);
  }

  /** Cancels the changes that are scheduled and not yet sent. */
  cancel(): void {
    const remaining = this.#planned.filter(({ state }) => state !== "scheduled");
    this.#planned.splice(0, this.#planned.length, ...remaining);
  }

  /**
   * Requests a change.
   * @param block the block in which to make the change; undefined for the next block.
   * @param targets the targets of a registration; undefined for those that the waiver had when it was revoked here, or
   *   else those of the waivers in genesis.
   * @throws {@link InvalidChangeError} for a block that exists. Without `block`, also for a change that has no effect or
   *   that the devnet's own validators cannot carry.
   */
  async plan(
    action: Action,
    waiver: Hex,
    block?: number,
    targets?: readonly AllowedTarget[],
  ): Promise<RegistryChange> {
    const head = this.#chain.head.number;
    if (block !== undefined && block <= head) {
      throw new InvalidChangeError(`block ${block} cannot be changed any more: the latest is ${head}`);
    }
    const planned: Planned = {
      action,
      waiver: waiver.toLowerCase() as Hex,
      block: block ?? null,
      state: "scheduled",
      transactions: [],
      targets,
      attempts: 0,
    };
    if (block === undefined) await this.#send(planned);
    this.#planned.push(planned);
    if (this.#planned.length > MAX_REMEMBERED_CHANGES) this.#planned.shift();
    const { targets: _, attempts: __, ...change } = planned;
    return change;
  }

  async #sendDue(number: number): Promise<void> {
    for (const planned of this.#planned) {
      if (planned.state !== "scheduled" || (planned.block ?? number) > number) continue;
      try {
        await this.#send(planned);
      } catch (error) {
        planned.state = "failed";
        planned.problem = error instanceof Error ? error.message : String(error);
      }
    }
  }

  /** Checks after a block whether the registry has the changes that were sent. */
  #updateStates(block: SealedBlock): void {
    for (const planned of this.#planned) {
      if (planned.state !== "sent") continue;
      const { pool, ledger } = this.#chain;
      if (this.#isInForce(planned)) planned.state = "done";
      else if (!planned.transactions.some((hash) => pool.find(hash) !== undefined)) {
        const included = planned.transactions.filter((hash) => ledger.transaction(hash) !== undefined);
        planned.state = planned.attempts < ATTEMPTS ? "scheduled" : "failed";
        planned.problem = `block ${block.number} has ${included.length} of its ${planned.transactions.length} transactions, and the registry did not change`;
      }
    }
  }

  #isInForce({ action, waiver }: Planned): boolean {
    const registered = policyVersion(this.#chain.state, hexToBytes(waiver)) !== undefined;
    return registered === (action === "register");
  }

  async #send(planned: Planned): Promise<void> {
    const { action, waiver } = planned;
    if (this.#isInForce(planned)) {
      throw new InvalidChangeError(
        `${waiver} is ${action === "register" ? "a registered waiver already" : "not a registered waiver"}`,
      );
    }
    const { ours, total } = validatorsAt(this.#chain.state);
    const voters = ours.slice(0, Math.floor((total * 2) / 3) + 1);
    // Signers take turns in a block. A proposer that does not vote sends only proposals, so each proposal comes before
    // its votes, also with several changes in one block.
    const proposer = ours[voters.length] ?? voters[0];
    if (proposer === undefined || voters.length * 3 <= total * 2) {
      throw new InvalidChangeError(
        `the devnet has the keys of ${ours.length} of ${total} validators, and more than two thirds have to vote`,
      );
    }
    planned.attempts += 1;
    const proposal = proposalCount(this.#chain.state) + 1n + BigInt(this.#proposalsAhead());
    const data = await this.#proposalOf(planned);
    const transactions = [await this.#sendAs(proposer, data, GAS.propose)];
    for (const voter of voters)
      transactions.push(await this.#sendAs(voter, encodeCall(VOTE, proposal, true), GAS.vote));
    planned.transactions = transactions;
    planned.state = "sent";
  }

  /** The number of our proposals that wait for the same block and come first. */
  #proposalsAhead(): number {
    const { pool } = this.#chain;
    return this.#planned.filter(
      ({ state, transactions: [first] }) =>
        state === "sent" && first !== undefined && pool.find(first) !== undefined,
    ).length;
  }

  async #proposalOf({ action, waiver, targets }: Planned): Promise<Uint8Array> {
    if (action === "register") {
      const proposed = targets ?? this.#lastTargets.get(waiver) ?? GENESIS_TARGETS;
      return encodeCall(PROPOSE_REGISTER, hexToBytes(waiver), proposed);
    }
    this.#lastTargets.set(waiver, await this.#targetsNow(waiver));
    return encodeCall(PROPOSE_REVOKE, hexToBytes(waiver));
  }

  async #targetsNow(waiver: Hex): Promise<AllowedTarget[]> {
    const { head, state, options } = this.#chain;
    const { returnData } = await this.#chain.call(
      {
        from: new Uint8Array(20),
        to: REGISTRY_ADDRESS,
        data: policyTargetsCall(hexToBytes(waiver)),
        value: 0n,
        gasPrice: 0n,
        executionGas: options.blockGasLimit,
      },
      head,
      state,
    );
    return readPolicyTargets(returnData);
  }

  async #sendAs({ index, address }: DevnetAccount, data: Uint8Array, gas: bigint): Promise<Hex> {
    const { state, pool, options } = this.#chain;
    const account = address.toLowerCase() as Hex;
    const { raw } = signTransaction(
      {
        type: "legacy",
        chainId: options.chainId,
        nonce: pool.nextNonce(account, state.account(account)?.nonce ?? 0n),
        gasPrice: options.baseFee || options.minGasPrice,
        gasLimit: gas < options.blockGasLimit ? gas : options.blockGasLimit,
        to: REGISTRY_ADDRESS,
        value: 0n,
        data,
      },
      hexToBytes(devnetAccount(index).privateKey),
    );
    return this.#chain.send(raw);
  }
}
