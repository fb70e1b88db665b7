/**
 * Gasless transactions for ethers: a `GasWaiverSigner` takes the place of a `Signer`.
 */
import {
  AbstractSigner,
  Interface,
  type InterfaceAbi,
  isError,
  keccak256,
  type Provider,
  resolveAddress,
  type Signer,
  Transaction,
  type TransactionLike,
  type TransactionReceipt,
  type TransactionRequest,
  type TransactionResponse,
  type TypedDataDomain,
  type TypedDataField,
} from "ethers";
import { UnusableAccountError } from "./errors.js";
import { failingProvider } from "./ethersSigner/failingProvider.js";
import { assertReadable, callOf, PAYMENT, responseOf } from "./ethersSigner/gaslessCall.js";
import { explainEstimate } from "./gasless/estimate.js";
import { Gasless, type GaslessOptions } from "./gasless/gasless.js";
import type { GaslessCall, GaslessSender, SentTransaction } from "./gasless/gaslessCall.js";
import { type RevertReason, revertReasonOf } from "./revertReason.js";

export type { GaslessOptions } from "./gasless/gasless.js";
export type { RevertReason } from "./revertReason.js";

/** The address of the service, and how to send through it. */
export type GasWaiverSignerOptions = GaslessOptions;

/**
 * Signs with another signer, such as a `Wallet`, and sends through the service: as a legacy transaction of gas
 * price 0 with the sender's next nonce. Fees that the request names are upper bounds, which price 0 keeps. Transactions sent at
 * the same time get consecutive nonces, and are waited for as usual. Make one for a sender and keep it: it remembers the nonces.
 * @example
 * ```ts
 * import { GasWaiverSigner } from "@gas-waiver/client/ethers";
 * import { JsonRpcProvider, Wallet } from "ethers";
 *
 * const wallet = new Wallet(privateKey, new JsonRpcProvider("http://127.0.0.1:8545"));
 * const signer = new GasWaiverSigner(wallet, { url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const sent = await signer.sendTransaction({ to: tokenAddress, data: calldata });
 * await sent.wait();
 * ```
 */
export class GasWaiverSigner extends AbstractSigner {
  readonly #signer: Signer;
  readonly #gasless: Gasless;

  /**
   * Wraps a signer.
   * @param signer signs without sending, as a `Wallet` does; its provider reads the chain.
   * @throws InvalidArgumentError if the address or the key of the service cannot be used.
   */
  constructor(signer: Signer, options: GasWaiverSignerOptions | Gasless) {
    const gasless = options instanceof Gasless ? options : new Gasless(options, keccak256);
    const { provider } = signer;
    super(
      provider &&
        failingProvider(provider, async (hash, isOver) => {
          // Without a record it is no transaction of the service, or nobody may tell how it ended.
          if ((await gasless.assertNotFailed(hash)) === undefined) return;
          const read = async () => (await isOver()) || (await provider.getTransactionReceipt(hash));
          await gasless.receiptOf(hash, read);
        }),
    );
    this.#signer = signer;
    this.#gasless = gasless;
  }

  /** Returns the same signer on another provider; they share their nonces. */
  override connect(provider: Provider | null): GasWaiverSigner {
    return new GasWaiverSigner(this.#signer.connect(provider), this.#gasless);
  }

  override getAddress(): Promise<string> {
    return this.#signer.getAddress();
  }

  override signTransaction(transaction: TransactionRequest): Promise<string> {
    return this.#signer.signTransaction(transaction);
  }

  override signMessage(message: string | Uint8Array): Promise<string> {
    return this.#signer.signMessage(message);
  }

  override signTypedData(
    domain: TypedDataDomain,
    types: Record<string, TypedDataField[]>,
    value: Record<string, unknown>,
  ): Promise<string> {
    return this.#signer.signTypedData(domain, types, value);
  }

  /** Estimates gas at gas price 0, so that the estimate does not fail for an empty account. */
  override async estimateGas(transaction: TransactionRequest): Promise<bigint> {
    assertReadable(transaction, PAYMENT);
    const { from, to, data, value } = await this.populateCall(transaction);
    const call = { from: from ?? null, to: to ?? null, data: data ?? null, value: value ?? null };
    return await explainEstimate(this.#providerFor("estimateGas").estimateGas({ ...call, gasPrice: 0 }));
  }

  /** Fills in a transaction for {@link signTransaction}: legacy, at gas price 0. */
  override async populateTransaction(transaction: TransactionRequest): Promise<TransactionLike<string>> {
    const { chainId, ...prepared } = await this.prepareGaslessTransaction(transaction);
    return { ...prepared, from: await this.getAddress(), chainId: BigInt(chainId ?? 0) };
  }

  /**
   * Signs and sends through the service: the same bytes again, until it is known whether the service has them. With
   * `customData: { idempotencyKey }` a call that is repeated within the service's retention (a day by default) pays once: it
   * returns the first payment, and another call with the key is refused.
   * @returns the transaction, when a node of the chain has it. Its `wait` also ends when the service says that it failed.
   * @throws WaiverClientError; while `inDoubt` has the signed bytes, go on with {@link sendSignedTransaction}. The error of ethers
   * where the node refuses the estimate.
   * @example
   * ```ts
   * const sent = await signer.sendTransaction({ to: tokenAddress, data: calldata });
   * await sent.wait();
   * ```
   */
  override async sendTransaction(transaction: TransactionRequest): Promise<TransactionResponse> {
    const provider = this.#providerFor("sendTransaction");
    const call = await this.#callOf(transaction, PAYMENT);
    const sender = await this.#sender(provider);
    return await this.#respond(provider, () => this.#gasless.send(sender, call));
  }

  /**
   * Sends bytes that were signed before, such as those that an error has in `inDoubt`. They are the same submission, however
   * often they are sent.
   * @param signed 0x hex.
   * @returns the transaction, when a node of the chain has it.
   * @throws WaiverClientError
   * @example
   * ```ts
   * import { WaiverClientError } from "@gas-waiver/client";
   *
   * try {
   *   await signer.sendTransaction({ to: tokenAddress, data: calldata });
   * } catch (error) {
   *   const [open] = error instanceof WaiverClientError ? error.inDoubt : [];
   *   if (open === undefined) throw error; // it will not be paid
   *   await signer.sendSignedTransaction(open.signed);
   * }
   * ```
   */
  async sendSignedTransaction(signed: string): Promise<TransactionResponse> {
    const provider = this.#providerFor("sendSignedTransaction");
    return await this.#respond(provider, () => this.#gasless.submitSigned(signed));
  }

  /**
   * Waits for the receipt of a transaction that was sent through the service, or until the service says that it failed, as the
   * `wait` of responses does, those of a `Contract` included.
   * @param timeoutMs 180,000 by default.
   * @returns the receipt; `status` 0 says that the call reverted.
   * @throws SubmissionFailedError if it failed, or with the code `TIMEOUT` when the time is over.
   * @example
   * ```ts
   * const receipt = await signer.waitForTransaction(transactionHash);
   * ```
   */
  async waitForTransaction(hash: string, confirms = 1, timeoutMs?: number): Promise<TransactionReceipt> {
    const provider = this.#providerFor("waitForTransaction");
    const read = async () => {
      const receipt = await provider.getTransactionReceipt(hash);
      // Confirmations cost a request of their own, and there is one with the receipt.
      return receipt && (confirms <= 1 || (await receipt.confirmations()) >= confirms) ? receipt : null;
    };
    return await this.#gasless.receiptOf(hash, read, timeoutMs);
  }

  /**
   * Prepares a transaction of gas price 0 without signing it: estimates its gas, and gives it the sender's next nonce, which it
   * does not reserve.
   * @returns the transaction, for `signTransaction` of any signer.
   * @throws the error of ethers where the node refuses the estimate.
   * @example
   * ```ts
   * const { nonce, gasLimit } = await signer.prepareGaslessTransaction({ to: tokenAddress, data: calldata });
   * ```
   */
  async prepareGaslessTransaction(transaction: TransactionRequest): Promise<TransactionLike<string>> {
    const sender = await this.#sender(this.#providerFor("prepareGaslessTransaction"));
    const { gas, ...prepared } = await this.#gasless.prepare(sender, await this.#callOf(transaction));
    return { ...prepared, type: 0, gasPrice: 0n, gasLimit: gas };
  }

  /**
   * Signs a transaction of gas price 0, for an application that sends it over a wire of its own. The nonce counts as used from
   * then on, so that calls in a row get consecutive ones.
   * @returns the signed bytes as 0x hex, for `submit`.
   * @throws the error of ethers where the node refuses the estimate.
   * @example
   * ```ts
   * const signed = await signer.signGaslessTransaction({ to: tokenAddress, data: calldata });
   * for await (const line of client.submit([signed])) console.log(line.success);
   * ```
   */
  async signGaslessTransaction(transaction: TransactionRequest): Promise<string> {
    const sender = await this.#sender(this.#providerFor("signGaslessTransaction"));
    return await this.#gasless.sign(sender, await this.#callOf(transaction));
  }

  async #callOf(transaction: TransactionRequest, also: readonly string[] = []): Promise<GaslessCall> {
    assertReadable(transaction, also);
    return callOf(transaction, await this.populateCall(transaction));
  }

  async #respond(provider: Provider, send: () => Promise<SentTransaction>): Promise<TransactionResponse> {
    const { signed, txHash } = await send();
    const sent =
      signed === undefined
        ? await this.#gasless.receiptOf(txHash, () => provider.getTransaction(txHash))
        : responseOf(Transaction.from(signed), provider);
    const ofEthers = sent.wait.bind(sent);
    const wait: typeof ofEthers = async (confirms = 1, timeoutMs) => {
      if (confirms > 0) await this.waitForTransaction(sent.hash, confirms, timeoutMs);
      // ethers has the receipt at once, and throws for a call that reverted.
      return await ofEthers(confirms);
    };
    return Object.assign(sent, { wait });
  }

  async #sender(provider: Provider): Promise<GaslessSender> {
    const address = await resolveAddress(this.#signer);
    return {
      address,
      chainId: async () => Number((await provider.getNetwork()).chainId),
      transactionCount: () => provider.getTransactionCount(address, "pending"),
      estimateGas: ({ to, data, value }) =>
        provider.estimateGas({ from: address, to, data, value, gasPrice: 0 }),
      transactionOf: (hash) => provider.getTransaction(hash),
      sign: ({ gas, ...transaction }) =>
        this.#signer
          .signTransaction({ ...transaction, type: 0, gasPrice: 0, gasLimit: gas })
          .catch((cause: unknown) => {
            if (!isError(cause, "UNSUPPORTED_OPERATION")) throw cause;
            const remedy = "wrap a Wallet, or let the wallet send through the gateway (gaslessProvider)";
            throw new UnusableAccountError(`the signer of ${address} only sends: ${remedy}`, { cause });
          }),
    };
  }

  #providerFor(operation: string): Provider {
    if (this.provider) return this.provider;
    throw new UnusableAccountError(
      `${operation} reads the chain, and the signer is not connected to a provider`,
    );
  }
}

/**
 * Tells why a transaction or its estimate reverted, from any error: of the SDK, a result line, a record, the library or a node.
 * The ABI decodes a contract's own error.
 * @returns undefined if the error is not of a transaction that reverted.
 * @example
 * ```ts
 * import { revertOf } from "@gas-waiver/client/ethers";
 *
 * const abi = ["error InsufficientBalance(uint256 balance)"];
 * try {
 *   await client.wait(id);
 * } catch (error) {
 *   console.log(revertOf(error, abi)?.message);
 * }
 * ```
 */
export function revertOf(error: unknown, abi: Interface | InterfaceAbi): RevertReason | undefined {
  return revertReasonOf(error, (data) => {
    try {
      const parsed = Interface.from(abi).parseError(data);
      return parsed ? { name: parsed.name, args: [...parsed.args] } : undefined;
    } catch {
      // The data does not fit the error of this selector.
      return undefined;
    }
  });
}
