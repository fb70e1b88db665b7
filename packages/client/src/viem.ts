/**
 * Gasless transactions for viem: `walletClient.extend(gasWaiverActions({ url, apiKey }))`, or viem's own actions over
 * `gasWaiverTransport(http(), { url, apiKey })`. The account must be a local one, because only those sign without sending.
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
  decodeErrorResult,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  getContractError,
  type Hash,
  type Hex,
  type LocalAccount,
  type TransactionSerializableLegacy,
  type Transport,
} from "viem";
import { parseAccount } from "viem/accounts";
import { UnusableAccountError } from "./errors.js";
import {
  Gasless,
  type GaslessCall,
  type GaslessOptions,
  type GaslessSender,
  type GaslessTransaction,
} from "./gasless/gasless.js";
import { type ErrorWithReason, type RevertReason, revertReasonOf } from "./revertReason.js";
import { type NodeRequest, type SigningAccount, viemSender } from "./viemTransport/viemSender.js";

export type { ErrorWithReason, RevertReason } from "./revertReason.js";
export { type GasWaiverTransportOptions, gasWaiverTransport } from "./viemTransport/gasWaiverTransport.js";
export type { SigningAccount } from "./viemTransport/viemSender.js";

/** The address of the service, and how to send through it. */
export type GasWaiverActionsOptions = GaslessOptions;

/** Options of both actions. */
interface Overrides {
  /** A local account, as `privateKeyToAccount` returns it; the client's own by default. */
  readonly account?: Account | Address;
  /** The gas limit, in gas; by default the node's estimate at gas price 0, and a fifth on top. */
  readonly gas?: bigint;
  /** The sender's nonce; the next one by default. Calls made at the same time get consecutive ones. */
  readonly nonce?: number;
}

/** The parameters of `sendGaslessTransaction`. */
export interface SendGaslessTransactionParameters extends Overrides {
  readonly to: Address;
  readonly data?: Hex;
  /** The value in wei. */
  readonly value?: bigint;
}

type Changing = "nonpayable" | "payable";

/** The parameters of `writeGaslessContract`: those of viem's `writeContract` without fees. */
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
    /** The value in wei. */
    readonly value?: bigint;
  };

/** The actions that {@link gasWaiverActions} adds. A type, since viem asks for one with an index signature. */
export type GasWaiverActions = {
  /**
   * Signs a transaction of gas price 0 as the client's account, and sends it through the service.
   * @returns its hash, when a node of the chain has it: `waitForTransactionReceipt` takes it from there.
   * @throws WaiverClientError; viem's own errors where the node refuses the estimate.
   * @example
   * ```ts
   * const hash = await walletClient.sendGaslessTransaction({ to: tokenAddress, data: calldata });
   * await publicClient.waitForTransactionReceipt({ hash });
   * ```
   */
  sendGaslessTransaction(parameters: SendGaslessTransactionParameters): Promise<Hash>;
  /**
   * Calls a contract's function in a transaction of gas price 0, through the service.
   * @returns its hash, when a node of the chain has it.
   * @throws WaiverClientError; viem's `ContractFunctionExecutionError` for a call that reverts.
   * @example
   * ```ts
   * import { parseAbi } from "viem";
   *
   * const hash = await walletClient.writeGaslessContract({
   *   address: tokenAddress,
   *   abi: parseAbi(["function transfer(address to, uint256 amount) returns (bool)"]),
   *   functionName: "transfer",
   *   args: [recipient, 5n],
   * });
   * ```
   */
  writeGaslessContract<
    const abi extends Abi | readonly unknown[],
    functionName extends ContractFunctionName<abi, Changing>,
    const args extends ContractFunctionArgs<abi, Changing, functionName>,
  >(parameters: WriteGaslessContractParameters<abi, functionName, args>): Promise<Hash>;
  /**
   * Prepares a transaction of gas price 0 without signing it: estimates its gas, and gives it the account's next nonce, which it
   * does not reserve.
   * @returns the transaction, for `signTransaction` of any account or wallet that signs.
   * @throws viem's own errors where the node refuses the estimate.
   * @example
   * ```ts
   * const { nonce, gas } = await walletClient.prepareGaslessTransaction({ to: tokenAddress, data: calldata });
   * ```
   */
  prepareGaslessTransaction(
    parameters: SendGaslessTransactionParameters,
  ): Promise<PreparedGaslessTransaction>;
  /**
   * Signs a transaction of gas price 0 as the client's account, for an application that sends it over a wire of its own. The
   * nonce counts as used from then on, so that calls in a row get consecutive ones.
   * @returns the signed bytes, for `submit`.
   * @throws WaiverClientError; viem's own errors where the node refuses the estimate.
   * @example
   * ```ts
   * const signed = await walletClient.signGaslessTransaction({ to: tokenAddress, data: calldata });
   * for await (const line of client.submit([signed])) console.log(line.success);
   * ```
   */
  signGaslessTransaction(parameters: SendGaslessTransactionParameters): Promise<Hex>;
  /**
   * Does what `signGaslessTransaction` does, for the call of a contract's function.
   * @returns the signed bytes, for `submit`.
   * @throws WaiverClientError; viem's `ContractFunctionExecutionError` for a call that reverts.
   * @example
   * ```ts
   * import { parseAbi } from "viem";
   *
   * const signed = await walletClient.signGaslessContract({
   *   address: tokenAddress,
   *   abi: parseAbi(["function transfer(address to, uint256 amount) returns (bool)"]),
   *   functionName: "transfer",
   *   args: [recipient, 5n],
   * });
   * ```
   */
  signGaslessContract<
    const abi extends Abi | readonly unknown[],
    functionName extends ContractFunctionName<abi, Changing>,
    const args extends ContractFunctionArgs<abi, Changing, functionName>,
  >(parameters: WriteGaslessContractParameters<abi, functionName, args>): Promise<Hex>;
};

/** A transaction of gas price 0 before its signature, as viem's `signTransaction` takes it. */
export type PreparedGaslessTransaction = TransactionSerializableLegacy & {
  readonly type: "legacy";
  readonly chainId: number;
  readonly nonce: number;
  readonly gas: bigint;
};

/**
 * Adds `sendGaslessTransaction` and `writeGaslessContract` to a viem client. Make them once for a sender and keep
 * them: they remember its nonces.
 * @throws InvalidArgumentError if the address or the key of the service cannot be used.
 * @example
 * ```ts
 * import { gasWaiverActions } from "@gas-waiver/client/viem";
 * import { createWalletClient, http } from "viem";
 * import { privateKeyToAccount } from "viem/accounts";
 *
 * const walletClient = createWalletClient({
 *   account: privateKeyToAccount(privateKey),
 *   transport: http("http://127.0.0.1:8545"),
 * }).extend(gasWaiverActions({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" }));
 * const hash = await walletClient.sendGaslessTransaction({ to: tokenAddress, data: calldata });
 * ```
 */
export function gasWaiverActions(
  options: GasWaiverActionsOptions,
): <transport extends Transport, chain extends Chain | undefined, account extends Account | undefined>(
  client: Client<transport, chain, account>,
) => GasWaiverActions {
  const gasless = new Gasless(options);
  return (client) => ({
    async sendGaslessTransaction(parameters) {
      const { txHash } = await gasless.send(...callOf(client, parameters));
      return txHash as Hash;
    },
    async writeGaslessContract(parameters) {
      const { txHash } = await gasless.send(...contractCallOf(client, parameters));
      return txHash as Hash;
    },
    async prepareGaslessTransaction(parameters) {
      return preparedOf(await gasless.prepare(...callOf(client, parameters)));
    },
    async signGaslessTransaction(parameters) {
      return (await gasless.sign(...callOf(client, parameters))) as Hex;
    },
    async signGaslessContract(parameters) {
      return (await gasless.sign(...contractCallOf(client, parameters))) as Hex;
    },
  });
}

/** Returns the sender of a call and the call, for {@link Gasless}. */
function callOf(
  client: Client,
  { account, to, data = "0x", value = 0n, gas, nonce }: SendGaslessTransactionParameters,
): [GaslessSender, GaslessCall] {
  return [senderOf(client, localAccount(account ?? client.account)), { to, data, value, gas, nonce }];
}

/** Returns the sender and the call of a contract's function. */
function contractCallOf(client: Client, parameters: unknown): [GaslessSender, GaslessCall] {
  const { abi, address, functionName, args, ...overrides } = parameters as WriteGaslessContractParameters;
  const data = encodeFunctionData({ abi, functionName, args } as EncodeFunctionDataParameters);
  const account = localAccount(overrides.account ?? client.account);
  const sender = senderOf(client, account);
  const estimateGas = (call: GaslessCall) =>
    sender.estimateGas(call).catch((error: unknown) => {
      const contractCall = { abi, address, args, functionName, sender: account.address };
      throw getContractError(error as BaseError, contractCall);
    });
  const { value = 0n, gas, nonce } = overrides;
  return [
    { ...sender, estimateGas },
    { to: address, data, value, gas, nonce },
  ];
}

function preparedOf({ to, data, ...transaction }: GaslessTransaction): PreparedGaslessTransaction {
  return { ...transaction, to: to as Address, data: data as Hex, type: "legacy", gasPrice: 0n };
}

/**
 * Returns the account as a local one.
 * @throws UnusableAccountError if it cannot sign without sending.
 */
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

function senderOf(client: Client, account: SigningAccount): GaslessSender {
  return viemSender(client.request as NodeRequest, account, client.chain?.id);
}

/**
 * Tells why a transaction reverted, from the error of the SDK, of a result line or of a record. The service has taken the
 * cause once; the ABI decodes a contract's own error.
 * @returns undefined if the error is not of a transaction that reverted.
 * @example
 * ```ts
 * import { SubmissionFailedError } from "@gas-waiver/client";
 * import { revertOf } from "@gas-waiver/client/viem";
 * import { parseAbi } from "viem";
 *
 * const abi = parseAbi(["error InsufficientBalance(uint256 balance)"]);
 * try {
 *   await client.wait(id);
 * } catch (error) {
 *   if (error instanceof SubmissionFailedError) console.log(revertOf(error, abi)?.message);
 * }
 * ```
 */
export function revertOf(error: ErrorWithReason, abi: Abi): RevertReason | undefined {
  return revertReasonOf(error, (data) => {
    try {
      const { errorName: name, args } = decodeErrorResult({ abi, data });
      return { name, args: (args ?? []) as readonly unknown[] };
    } catch {
      // The ABI does not have the error.
      return undefined;
    }
  });
}
