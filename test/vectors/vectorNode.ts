// Brings a devnet into the state of a vector with transactions alone. A patch of the state is left to the code of a sender,
// which no transaction can place.
import { createDevnet, type Devnet, type DevnetOptions, WaiverRegistry } from "@gas-waiver/devnet";
import { Interface, type InterfaceAbi } from "ethers";
import { innerTx, transferData, type VectorCase, wrapperTx } from "./case.js";
import {
  type Accounts,
  type AllowedTargetJson,
  contracts,
  DEPLOYER,
  MARKER,
  OTHER_WAIVER,
  REGISTRY,
  type Registry,
  registry,
  VALIDATOR,
} from "./state.js";
import { addressOf, type Fields, sign } from "./transaction.js";

/**
 * The waiver of a transaction that only has to raise a user's nonce, and the user of one that only has to raise a
 * waiver's. No vector that needs one of them names it.
 */
const SPARE_WAIVER = OTHER_WAIVER;
const SPARE_USER = 8;
const VALIDATORS = [VALIDATOR, VALIDATOR + 1, VALIDATOR + 2];
const GWEI = 10n ** 9n;

const abi = new Interface(WaiverRegistry.abi as unknown as InterfaceAbi);

export class VectorNode {
  readonly #devnet: Devnet;

  private constructor(devnet: Devnet) {
    this.#devnet = devnet;
  }

  /** Starts a node in the state of a case. It makes blocks only at {@link mine}. Close it afterwards. */
  static async create(vector: VectorCase, options: DevnetOptions = {}): Promise<VectorNode> {
    const node = new VectorNode(await createDevnet({ blockTimeMs: 0, automine: false, ...options }));
    const called = Object.keys(contracts).some((address) => vector.wrapper.includes(address.slice(2)));
    if (called && vector.expect.verdict === "included") await node.#deploy();
    await node.#raiseNonces(vector.accounts);
    await node.#fund(vector.accounts);
    await node.#govern(vector.registry);
    await node.#placeCode(vector.accounts);
    return node;
  }

  async rpc<T = unknown>(method: string, ...params: unknown[]): Promise<T> {
    return (await this.#devnet.request({ method, params })) as T;
  }

  async mine(): Promise<void> {
    await this.#devnet.mine();
  }

  async close(): Promise<void> {
    await this.#devnet.close();
  }

  async nonceOf(account: number): Promise<bigint> {
    return BigInt(await this.rpc<string>("eth_getTransactionCount", addressOf(account), "latest"));
  }

  async #sendAndMine(...transactions: string[]): Promise<void> {
    for (const bytes of transactions) await this.rpc("eth_sendRawTransaction", bytes);
    await this.mine();
  }

  async #signPaid(account: number, fields: Partial<Fields>): Promise<string> {
    const plain = innerTx({ nonce: await this.nonceOf(account), gasPrice: GWEI, gasLimit: 10_000_000n });
    return sign({ ...plain.fields, ...fields }, account).bytes;
  }

  /** Creates the small contracts from account 13, in their order from nonce 0. */
  async #deploy(): Promise<void> {
    for (const { name, code } of Object.values(contracts)) {
      if (name === "test token") continue;
      // PUSH2 length, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN returns the code behind these 10 bytes.
      const size = ((code.length - 2) / 2).toString(16).padStart(4, "0");
      const data = `0x61${size}80600a5f395ff3${code.slice(2)}`;
      await this.#sendAndMine(await this.#signPaid(DEPLOYER, { to: null, data }));
    }
  }

  async #raiseNonces(accounts: Accounts): Promise<void> {
    const users: number[] = [];
    const waivers: number[] = [];
    for (let account = 0; account <= VALIDATOR; account++) {
      const nonce = Number(accounts[addressOf(account)]?.nonce ?? 0);
      (account < 10 ? users : waivers).push(...Array<number>(nonce).fill(account));
    }
    for (let i = 0; i < Math.max(users.length, waivers.length); i++) {
      const user = users[i] ?? SPARE_USER;
      const waiver = waivers[i] ?? SPARE_WAIVER;
      const data = transferData(addressOf(9), 0n);
      const inner = innerTx({ signer: user, nonce: await this.nonceOf(user), data });
      const wrapper = wrapperTx(inner.bytes, {
        signer: waiver,
        to: MARKER,
        nonce: await this.nonceOf(waiver),
      });
      await this.#sendAndMine(wrapper.bytes);
    }
  }

  async #fund(accounts: Accounts): Promise<void> {
    for (const [to, { balance }] of Object.entries(accounts)) {
      if (balance === "0") continue;
      await this.#sendAndMine(await this.#signPaid(DEPLOYER, { to, value: BigInt(balance), data: "0x" }));
    }
  }

  async #placeCode(accounts: Accounts): Promise<void> {
    for (const [address, { code }] of Object.entries(accounts)) {
      if (code !== undefined) await this.rpc("anvil_setCode", address, code);
    }
    // The next block's state root has the patches.
    await this.mine();
  }

  /** Changes the registry of genesis into the vector's, by proposals and votes. */
  async #govern(wanted: Registry): Promise<void> {
    const genesis = registry();
    for (const waiver of Object.keys(genesis)) {
      const policy = wanted[waiver];
      if (policy === undefined) await this.#passProposal("proposeRevoke", [waiver]);
      else if (JSON.stringify(policy) !== JSON.stringify(genesis[waiver])) {
        await this.#passProposal("proposeUpdate", [waiver, policy.map(targetOf)]);
      }
    }
    for (const [waiver, policy] of Object.entries(wanted)) {
      if (genesis[waiver] === undefined) {
        await this.#passProposal("proposeRegister", [waiver, policy.map(targetOf)]);
      }
    }
  }

  async #passProposal(method: string, values: unknown[]): Promise<void> {
    const data = abi.encodeFunctionData(method, values);
    await this.#sendAndMine(await this.#signPaid(VALIDATOR, { to: REGISTRY, data }));
    const count = { to: REGISTRY, data: abi.encodeFunctionData("proposalCount") };
    const id = BigInt(await this.rpc<string>("eth_call", count, "latest"));
    const vote = abi.encodeFunctionData("vote", [id, true]);
    for (const validator of VALIDATORS) {
      await this.#sendAndMine(await this.#signPaid(validator, { to: REGISTRY, data: vote }));
    }
  }
}

function targetOf({ address, selectors }: AllowedTargetJson) {
  return {
    target: address === "*" ? `0x${"00".repeat(20)}` : address,
    anyTarget: address === "*",
    anySelector: selectors === undefined,
    selectors: selectors ?? [],
  };
}
