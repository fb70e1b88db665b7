/**
 * Gasless transactions for ethers: a `GasWaiverSigner` takes the place of a `Signer`.
 */
import {
  AbstractSigner,
  Interface,
  type InterfaceAbi,
  type Provider,
  resolveAddress,
  type Signer,
  Transaction,
  type TransactionLike,
  type TransactionRequest,
  TransactionResponse,
  type TypedDataDomain,
  type TypedDataField,
} from "ethers";
import { InvalidArgumentError, UnusableAccountError } from "./errors.js";
import {
  Gasless,
  type GaslessCall,
  type GaslessOptions,
  type GaslessSender,
  withMargin,
} from "./gasless/gasless.js";
import { type ErrorWithReason, type RevertReason, revertReasonOf } from "./revertReason.js";

export type { ErrorWithReason, RevertReason } from "./revertReason.js";

/** The address of the service, and how to send through it. */
export type GasWaiverSignerOptions = GaslessOptions;

/**
 * Signs with another signer, such as a `Wallet`, and sends through the service: as a legacy transaction of gas
 * price 0 with the sender's next nonce, whatever fees the request names. Transactions sent at the same time get
 * consecutive nonces, and are waited for as usual. Make one for a sender and keep it: it remembers the nonces.
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
    super(signer.provider);
    this.#signer = signer;
    this.#gasless = options instanceof Gasless ? options : new Gasless(options);
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
    const { from, to, data, value } = await this.populateCall(transaction);
    const call = { from: from ?? null, to: to ?? null, data: data ?? null, value: value ?? null };
    return await this.#providerFor("estimateGas").estimateGas({ ...call, gasPrice: 0 });
  }

  /** Fills in a transaction for {@link signTransaction}: legacy, at gas price 0. */
  override async populateTransaction(transaction: TransactionRequest): Promise<TransactionLike<string>> {
    const { from, to, data, value } = await this.populateCall(transaction);
    const [{ chainId }, nonce, gasLimit] = await Promise.all([
      this.#providerFor("populateTransaction").getNetwork(),
      transaction.nonce ?? this.getNonce("pending"),
      transaction.gasLimit ?? this.estimateGas(transaction).then(withMargin),
    ]);
    const call = { from: from ?? null, to: to ?? null, data: data ?? "0x", value: value ?? 0n };
    return { ...call, type: 0, gasPrice: 0n, chainId, nonce, gasLimit };
  }

  /**
   * Signs and sends through the service.
   * @returns the transaction, when a node of the chain has it.
   * @throws WaiverClientError; the error of ethers where the node refuses the estimate.
   * @example
   * ```ts
   * const sent = await signer.sendTransaction({ to: tokenAddress, data: calldata });
   * await sent.wait();
   * ```
   */
  override async sendTransaction(transaction: TransactionRequest): Promise<TransactionResponse> {
    const provider = this.#providerFor("sendTransaction");
    const call = await this.#callOf(transaction);
    const blockNumber = await provider.getBlockNumber();
    const { signed } = await this.#gasless.send(await this.#sender(provider), call);
    return responseOf(Transaction.from(signed), provider).replaceableTransaction(blockNumber);
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

  async #callOf(transaction: TransactionRequest): Promise<GaslessCall> {
    const { to, data, value } = await this.populateCall(transaction);
    if (typeof to !== "string")
      throw new InvalidArgumentError("the transaction has no `to`: creation is not waived");
    const { gasLimit: gas, nonce } = transaction;
    return {
      ...{ to, data: data ?? "0x", value: BigInt(value ?? 0) },
      gas: gas === undefined || gas === null ? undefined : BigInt(gas),
      nonce: nonce === undefined || nonce === null ? undefined : Number(nonce),
    };
  }

  async #sender(provider: Provider): Promise<GaslessSender> {
    const address = await resolveAddress(this.#signer);
    return {
      address,
      chainId: async () => Number((await provider.getNetwork()).chainId),
      transactionCount: () => provider.getTransactionCount(address, "pending"),
      estimateGas: ({ to, data, value }) =>
        provider.estimateGas({ from: address, to, data, value, gasPrice: 0 }),
      sign: ({ gas, ...transaction }) =>
        this.#signer.signTransaction({ ...transaction, type: 0, gasPrice: 0, gasLimit: gas }),
    };
  }

  #providerFor(operation: string): Provider {
    if (this.provider) return this.provider;
    throw new UnusableAccountError(
      `${operation} reads the chain, and the signer is not connected to a provider`,
    );
  }
}

/** Returns the transaction in the form of a node's answer before it is in a block. */
function responseOf(transaction: Transaction, provider: Provider): TransactionResponse {
  const { hash, from, signature, to, nonce, gasLimit, data, value, chainId } = transaction;
  if (hash === null || from === null || signature === null)
    throw new InvalidArgumentError("the transaction is not signed");
  const inclusion = { blockNumber: null, blockHash: null, index: 0 };
  const fees = { gasPrice: 0n, maxPriorityFeePerGas: null, maxFeePerGas: null };
  const call = { from, to, nonce, gasLimit, data, value, chainId, signature };
  const noLists = { accessList: null, authorizationList: null };
  return new TransactionResponse({ hash, type: 0, ...inclusion, ...fees, ...call, ...noLists }, provider);
}

/**
 * Tells why a transaction reverted, from the error of the SDK, of a result line or of a record. The service has taken the
 * cause once; the ABI decodes a contract's own error.
 * @returns undefined if the error is not of a transaction that reverted.
 * @example
 * ```ts
 * import { SubmissionFailedError } from "@gas-waiver/client";
 * import { revertOf } from "@gas-waiver/client/ethers";
 *
 * const abi = ["error InsufficientBalance(uint256 balance)"];
 * try {
 *   await client.wait(id);
 * } catch (error) {
 *   if (error instanceof SubmissionFailedError) console.log(revertOf(error, abi)?.message);
 * }
 * ```
 */
export function revertOf(error: ErrorWithReason, abi: Interface | InterfaceAbi): RevertReason | undefined {
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
