/**
 * Gasless transactions for viem: `walletClient.extend(gasWaiverActions({ url, apiKey }))`.
 * The client's account must be a local one, because only those sign without sending.
 */
import {
  type Abi,
  type Account,
  type Address,
  type BaseError,
  type Chain,
  type Client,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionParameters,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  getContractError,
  type Hash,
  type Hex,
  type LocalAccount,
  numberToHex,
  type Transport,
} from "viem";
import { parseAccount } from "viem/accounts";
import { getChainId, getTransactionCount } from "viem/actions";
import { UnusableAccountError } from "./errors.js";
import { Gasless, type GaslessCall, type GaslessOptions, type GaslessSender } from "./gasless/gasless.js";

export type GasWaiverActionsOptions = GaslessOptions;

interface Overrides {
  /** The client's own by default. A local account, as of `privateKeyToAccount`. */
  readonly account?: Account | Address;
  /** The gas limit; by default what the node estimates at gas price 0, and a fifth on top. */
  readonly gas?: bigint;
  /** By default the sender's next one; calls made at the same time get consecutive ones. */
  readonly nonce?: number;
}

export interface SendGaslessTransactionParameters extends Overrides {
  readonly to: Address;
  readonly data?: Hex;
  /** In wei. */
  readonly value?: bigint;
}

type Changing = "nonpayable" | "payable";

export type WriteGaslessContractParameters<
  abi extends Abi | readonly unknown[] = Abi,
  functionName extends ContractFunctionName<abi, Changing> = ContractFunctionName<abi, Changing>,
  args extends ContractFunctionArgs<abi, Changing, functionName> = ContractFunctionArgs<
    abi,
    Changing,
    functionName
  >,
> = ContractFunctionParameters<abi, Changing, functionName, args> &
  Overrides & {
    /** In wei. */
    readonly value?: bigint;
  };

/** A type and no interface: viem asks for what has an index signature. */
export type GasWaiverActions = {
  /**
   * Signs a transaction of gas price 0 as the client's account and sends it through the service.
   * @returns its hash, when the chain's node has it: `waitForTransactionReceipt` takes it from there.
   * @throws WaiverClientError; viem's own errors where the node refuses the estimate.
   */
  sendGaslessTransaction(parameters: SendGaslessTransactionParameters): Promise<Hash>;
  /** The same for a contract's function. A call that reverts is viem's `ContractFunctionExecutionError`. */
  writeGaslessContract<
    const abi extends Abi | readonly unknown[],
    functionName extends ContractFunctionName<abi, Changing>,
    const args extends ContractFunctionArgs<abi, Changing, functionName>,
  >(parameters: WriteGaslessContractParameters<abi, functionName, args>): Promise<Hash>;
};

/** @throws TypeError if the address or the key of the service cannot be used. */
export function gasWaiverActions(
  options: GasWaiverActionsOptions,
): <transport extends Transport, chain extends Chain | undefined, account extends Account | undefined>(
  client: Client<transport, chain, account>,
) => GasWaiverActions {
  const gasless = new Gasless(options);
  return (client) => ({
    sendGaslessTransaction: (parameters) => send(gasless, client, parameters),
    writeGaslessContract: (parameters) =>
      write(gasless, client, parameters as unknown as WriteGaslessContractParameters),
  });
}

async function send(
  gasless: Gasless,
  client: Client,
  { account, to, data = "0x", value = 0n, gas, nonce }: SendGaslessTransactionParameters,
): Promise<Hash> {
  const sender = senderOf(client, localAccount(account ?? client.account));
  const { txHash } = await gasless.send(sender, { to, data, value, gas, nonce });
  return txHash as Hash;
}

async function write(
  gasless: Gasless,
  client: Client,
  { abi, address, functionName, args, ...overrides }: WriteGaslessContractParameters,
): Promise<Hash> {
  const data = encodeFunctionData({ abi, functionName, args } as EncodeFunctionDataParameters);
  const account = localAccount(overrides.account ?? client.account);
  const sender = senderOf(client, account);
  const estimateGas = (call: GaslessCall) =>
    sender.estimateGas(call).catch((error: unknown) => {
      const about = { abi, address, args, functionName, sender: account.address };
      throw getContractError(error as BaseError, about);
    });
  const { value = 0n, gas, nonce } = overrides;
  const { txHash } = await gasless.send({ ...sender, estimateGas }, { to: address, data, value, gas, nonce });
  return txHash as Hash;
}

/** @throws UnusableAccountError if it is none that signs without sending. */
function localAccount(account: Account | Address | undefined): LocalAccount {
  if (account === undefined) {
    throw new UnusableAccountError("the client has no account; give it or the call a local one");
  }
  const parsed = parseAccount(account);
  if (parsed.type === "local") return parsed as LocalAccount;
  throw new UnusableAccountError(
    `the account ${parsed.address} is of type ${parsed.type}: its wallet signs only what it sends itself; ` +
      "use a local account, such as privateKeyToAccount gives",
  );
}

function senderOf(client: Client, account: LocalAccount): GaslessSender {
  const { address } = account;
  return {
    address,
    chainId: async () => client.chain?.id ?? (await getChainId(client)),
    transactionCount: () => getTransactionCount(client, { address, blockTag: "pending" }),
    // Not viem's estimateGas: for a local account that fills in fees of its own.
    estimateGas: async ({ to, data, value }) => {
      const call = { from: address, to: to as Address, data: data as Hex, value: numberToHex(value) };
      const params = [{ ...call, gasPrice: "0x0" }] as const;
      return BigInt(await client.request({ method: "eth_estimateGas", params: [...params] }));
    },
    sign: ({ chainId, nonce, gas, to, data, value }) =>
      account.signTransaction({
        ...{ type: "legacy", gasPrice: 0n, chainId, nonce, gas, value },
        ...{ to: to as Address, data: data as Hex },
      }),
  };
}
