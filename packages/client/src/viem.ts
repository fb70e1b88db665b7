/**
 * Gasless transactions for viem: `walletClient.extend(gasWaiverActions({ url, apiKey }))`, or viem's own actions over
 * `gasWaiverTransport(http(), { url, apiKey })`. The account must be a local one, because only those sign without sending.
 */
import {
  type Abi,
  type Account,
  type Chain,
  type Client,
  type ContractFunctionArgs,
  type ContractFunctionName,
  decodeErrorResult,
  type Hash,
  type Hex,
  keccak256,
  type TransactionReceipt,
  type Transport,
  type WaitForTransactionReceiptParameters,
} from "viem";
import { getTransactionReceipt, waitForTransactionReceipt } from "viem/actions";
import { Gasless, type GaslessOptions } from "./gasless/gasless.js";
import { type RevertReason, revertReasonOf } from "./revertReason.js";
import { callOf, contractCallOf, PAYMENT, preparedOf } from "./viemTransport/gaslessCall.js";
import type {
  Changing,
  Payment,
  PreparedGaslessTransaction,
  SendGaslessTransactionParameters,
  WriteGaslessContractParameters,
} from "./viemTransport/parameters.js";

export type { GaslessOptions } from "./gasless/gasless.js";
export type { RevertReason } from "./revertReason.js";
export { type GasWaiverTransportOptions, gasWaiverTransport } from "./viemTransport/gasWaiverTransport.js";
export type {
  PreparedGaslessTransaction,
  SendGaslessTransactionParameters,
  WriteGaslessContractParameters,
} from "./viemTransport/parameters.js";
export type { SigningAccount } from "./viemTransport/viemSender.js";

/** The address of the service, and how to send through it. */
export type GasWaiverActionsOptions = GaslessOptions;

/** The actions that {@link gasWaiverActions} adds. A type, since viem asks for one with an index signature. */
export type GasWaiverActions = {
  /**
   * Signs a transaction of gas price 0 as the client's account, and sends it through the service: the same bytes again, until it
   * is known whether the service has them.
   * @returns its hash, when a node of the chain has it: `waitForGaslessReceipt` takes it from there.
   * @throws WaiverClientError; while `inDoubt` has the signed bytes, go on with `sendRawGaslessTransaction`. viem's own errors
   * where the node refuses the estimate.
   * @example
   * ```ts
   * const hash = await walletClient.sendGaslessTransaction({ to: tokenAddress, data: calldata });
   * await walletClient.waitForGaslessReceipt({ hash });
   * ```
   */
  sendGaslessTransaction(parameters: SendGaslessTransactionParameters & Payment): Promise<Hash>;
  /**
   * Sends bytes that were signed before, such as those that an error has in `inDoubt`. They are the same submission, however
   * often they are sent.
   * @returns the hash, when a node of the chain has the transaction.
   * @throws WaiverClientError
   * @example
   * ```ts
   * import { WaiverClientError } from "@gas-waiver/client";
   *
   * try {
   *   await walletClient.sendGaslessTransaction({ to: tokenAddress, data: calldata });
   * } catch (error) {
   *   const [open] = error instanceof WaiverClientError ? error.inDoubt : [];
   *   if (open === undefined) throw error; // it will not be paid
   *   await walletClient.sendRawGaslessTransaction({ serializedTransaction: open.signed });
   * }
   * ```
   */
  sendRawGaslessTransaction(parameters: { readonly serializedTransaction: string }): Promise<Hash>;
  /**
   * Waits for the receipt of a transaction that was sent through the service, or until the service says that it failed.
   * @param parameters those of viem's `waitForTransactionReceipt`. `timeout` is 180,000 ms by default.
   * @returns the receipt; the status `reverted` says that the call reverted.
   * @throws SubmissionFailedError if it failed, or with the code `TIMEOUT` when the time is over.
   * @example
   * ```ts
   * const { status } = await walletClient.waitForGaslessReceipt({ hash: transactionHash });
   * ```
   */
  waitForGaslessReceipt(parameters: WaitForTransactionReceiptParameters): Promise<TransactionReceipt>;
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
  >(parameters: WriteGaslessContractParameters<abi, functionName, args> & Payment): Promise<Hash>;
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
  const gasless = new Gasless(options, (bytes) => keccak256(bytes as Hex));
  return (client) => ({
    async sendGaslessTransaction(parameters) {
      const { txHash } = await gasless.send(...callOf(client, parameters, PAYMENT));
      return txHash as Hash;
    },
    async sendRawGaslessTransaction({ serializedTransaction }) {
      const { txHash } = await gasless.submitSigned(serializedTransaction);
      return txHash as Hash;
    },
    async waitForGaslessReceipt(parameters) {
      const { hash, timeout } = parameters;
      await gasless.receiptOf(hash, () => getTransactionReceipt(client, { hash }), timeout);
      return await waitForTransactionReceipt(client, parameters);
    },
    async writeGaslessContract(parameters) {
      const { txHash } = await gasless.send(...contractCallOf(client, parameters, PAYMENT));
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

/**
 * Tells why a transaction or its estimate reverted, from any error: of the SDK, a result line, a record, the library or a node.
 * The ABI decodes a contract's own error.
 * @returns undefined if the error is not of a transaction that reverted.
 * @example
 * ```ts
 * import { revertOf } from "@gas-waiver/client/viem";
 * import { parseAbi } from "viem";
 *
 * const abi = parseAbi(["error InsufficientBalance(uint256 balance)"]);
 * try {
 *   await client.wait(id);
 * } catch (error) {
 *   console.log(revertOf(error, abi)?.message);
 * }
 * ```
 */
export function revertOf(error: unknown, abi: Abi): RevertReason | undefined {
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
