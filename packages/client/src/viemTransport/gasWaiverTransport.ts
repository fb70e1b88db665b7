import {
  type Address,
  BaseError,
  type Hex,
  keccak256,
  MethodNotFoundRpcError,
  numberToHex,
  type TransactionSerializableLegacy,
  type Transport,
} from "viem";
import {
  InvalidArgumentError,
  SubmissionFailedError,
  UnusableAccountError,
  WaiverClientError,
} from "../errors.js";
import { explainEstimate } from "../gasless/estimate.js";
import { Gasless, type GaslessOptions, withMargin } from "../gasless/gasless.js";
import type { SentTransaction } from "../gasless/gaslessCall.js";
import { assertHonoured } from "../gasless/honoured.js";
import { type NodeRequest, type SigningAccount, viemSender } from "./viemSender.js";

/** The address of the service, how to send through it, and accounts. */
export interface GasWaiverTransportOptions extends GaslessOptions {
  /**
   * Accounts for which the transport signs, where a client names an account by its address alone. Clients whose account signs
   * need none, nor do accounts that the node or the provider behind the transport signs for without sending (`eth_signTransaction`).
   */
  readonly accounts?: readonly SigningAccount[];
}

/**
 * Makes viem's own actions gasless: `sendTransaction`, `writeContract` and `contract.write` sign with gas price 0, because the
 * transport tells them that gas costs nothing, and send through the service. Everything else goes to the node. It takes the
 * place of the transport in a client of viem, in the `transports` of wagmi, and in Hardhat's viem.
 *
 * The account must sign without sending. For wallets that only send, `gaslessProvider` and the gateway are there. Transactions
 * that are sent at the same time need viem's `nonceManager` in the account.
 * @param transport reads the chain.
 * @throws InvalidArgumentError if the address or the key of the service cannot be used. Actions throw viem's errors, with the
 * {@link WaiverClientError} inside: `error.walk((one) => one instanceof SubmissionFailedError)`.
 * @example
 * ```ts
 * import { gasWaiverTransport } from "@gas-waiver/client/viem";
 * import { createWalletClient, http } from "viem";
 * import { privateKeyToAccount } from "viem/accounts";
 * import { hardhat } from "viem/chains";
 *
 * const wallet = createWalletClient({
 *   account: privateKeyToAccount(privateKey),
 *   chain: { ...hardhat, id: 2201 },
 *   transport: gasWaiverTransport(http("http://127.0.0.1:8545"), { url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" }),
 * });
 * const hash = await wallet.sendTransaction({ to: tokenAddress, data: calldata });
 * ```
 */
export function gasWaiverTransport<transport extends Transport>(
  transport: transport,
  options: GasWaiverTransportOptions,
): transport {
  const gasless = new Gasless(options, (bytes) => keccak256(bytes as Hex));
  const sent = new Set<string>();
  const wrapped: Transport = (parameters) => {
    const inner = transport(parameters);
    const node: NodeRequest = (call) => inner.request(call);
    const handlers = handlersOf({
      node,
      gasless,
      accounts: options.accounts ?? [],
      sent,
      chainId: parameters.chain?.id,
    });
    const request = (call: { method: string; params?: unknown }, requestOptions?: never) => {
      const handler = handlers[call.method];
      if (handler === undefined) return inner.request(call, requestOptions);
      return handler(Array.isArray(call.params) ? call.params : []).catch((error: unknown) => {
        throw error instanceof WaiverClientError ? viemErrorOf(error) : error;
      });
    };
    return { ...inner, request: request as typeof inner.request };
  };
  return wrapped as transport;
}

/** viem reads the members of errors as those of its own. */
function viemErrorOf(cause: WaiverClientError): BaseError {
  return new BaseError(headlineOf(cause), { cause });
}

function headlineOf(cause: WaiverClientError): string {
  const failed = cause instanceof SubmissionFailedError ? cause : undefined;
  if (cause.inDoubt.length > 0 || failed?.code === "TIMEOUT")
    return "The gas-waiver service may have sent the transaction.";
  if (failed?.record) return "The gas-waiver service says that the transaction has failed.";
  return "The gas-waiver service has not sent the transaction.";
}

interface TransportParts {
  readonly node: NodeRequest;
  readonly gasless: Gasless;
  readonly accounts: readonly SigningAccount[];
  readonly chainId: number | undefined;
  /** The hashes that were sent, and whose receipt nobody has read. All clients of the transport share them. */
  readonly sent: Set<string>;
}

type Handlers = Readonly<Record<string, (params: readonly unknown[]) => Promise<unknown>>>;

/** The methods that the transport answers itself. */
function handlersOf(parts: TransportParts): Handlers {
  const { node, gasless, accounts, sent } = parts;
  const price = async () => "0x0";
  const unlessFailed = async (method: string, params: readonly unknown[]) => {
    const hash = String(params[0]);
    const read = () => node({ method, params });
    const answer = await read();
    if (answer !== null || !sent.has(hash)) return answer;
    const { sender, nonce } = (await gasless.assertNotFailed(hash)) ?? {};
    if (nonce === undefined || method !== "eth_getTransactionReceipt") return answer;
    const count = await node({ method: "eth_getTransactionCount", params: [sender, "latest"] });
    // A block has the nonce. viem would return the receipt of whatever else used it, before the record can tell.
    return BigInt(count as Hex) > BigInt(nonce) ? await gasless.receiptOf(hash, read) : answer;
  };
  const noted = ({ txHash }: SentTransaction) => {
    sent.add(txHash);
    return txHash;
  };
  return {
    eth_gasPrice: price,
    eth_maxPriorityFeePerGas: price,
    // viem makes fees of the base fee.
    eth_getBlockByNumber: async (params) =>
      withoutBaseFee(await node({ method: "eth_getBlockByNumber", params })),
    eth_estimateGas: async ([call, ...others]) => {
      const params = [{ ...withoutPrices(call), gasPrice: "0x0" }, ...others];
      const estimate = await explainEstimate(node({ method: "eth_estimateGas", params }));
      return numberToHex(withMargin(BigInt(estimate as Hex)));
    },
    // The node would fill in its prices. Without the method viem asks for each value alone.
    eth_fillTransaction: notFound("eth_fillTransaction"),
    eth_sendRawTransactionSync: notFound("eth_sendRawTransactionSync"),
    wallet_sendTransaction: notFound("wallet_sendTransaction"),
    wallet_sendCalls: notFound("wallet_sendCalls"),
    eth_sendRawTransaction: async ([signed]) => noted(await gasless.submitSigned(String(signed))),
    eth_sendTransaction: async ([call]) => noted(await sendAs(parts, Object(call))),
    // A failed transaction never has a receipt, so viem would wait for it in vain.
    eth_getTransactionReceipt: async (params) => {
      const receipt = await unlessFailed("eth_getTransactionReceipt", params);
      if (receipt !== null) sent.delete(String(params[0]));
      return receipt;
    },
    eth_getTransactionByHash: (params) => unlessFailed("eth_getTransactionByHash", params),
    ...(accounts.length > 0 && { eth_accounts: async () => accounts.map(({ address }) => address) }),
  };
}

/** Signs for an account that is named by its address. To pass the call on would cost the user gas. */
async function sendAs(
  { node, gasless, accounts, chainId }: TransportParts,
  call: UnsignedCall,
): Promise<SentTransaction> {
  assertHonoured(call, HONOURED);
  const { from = "", to, data, input, value = "0x0", gas, nonce, chainId: callChainId } = call;
  if (typeof to !== "string")
    throw new InvalidArgumentError("the transaction has no `to`: creation is not waived");
  const account =
    accounts.find(({ address }) => address.toLowerCase() === from.toLowerCase()) ??
    remoteAccount(node, from as Address);
  return await gasless.send(viemSender(node, account, chainId), {
    ...{ to, data: data ?? input ?? "0x", value: BigInt(value) },
    ...{
      gas: gas === undefined ? undefined : BigInt(gas),
      nonce: nonce === undefined ? undefined : Number(nonce),
      chainId: callChainId === undefined ? undefined : Number(callChainId),
    },
  });
}

/** Returns an account whose key is behind the transport, as those of Hardhat and of test nodes are: some sign without sending. */
function remoteAccount(node: NodeRequest, address: Address): SigningAccount {
  const signTransaction = async (transaction: TransactionSerializableLegacy): Promise<Hex> => {
    const { to, data, nonce = 0, gas = 0n, value = 0n, chainId = 0 } = transaction;
    const numbers = { nonce, gas, value, chainId, gasPrice: 0n };
    const hex = Object.entries(numbers).map(([name, number]) => [name, numberToHex(number)]);
    const params = [{ from: address, to, data, ...Object.fromEntries(hex) }];
    const answer = await node({ method: "eth_signTransaction", params }).catch((cause: unknown) => {
      throw new UnusableAccountError(
        `the account ${address} cannot sign here: give the client a local account, or its account to the transport; wallets ` +
          "that only send need the gateway (gaslessProvider)",
        { cause },
      );
    });
    // geth answers with the bytes as a member.
    return (typeof answer === "string" ? answer : Object(answer).raw) as Hex;
  };
  return { address, signTransaction: signTransaction as SigningAccount["signTransaction"] };
}

/** The members that a call reads, beside prices and the type. viem leaves its account among them. */
const HONOURED = ["from", "account", "to", "data", "input", "value", "gas", "nonce", "chainId"];

/** The parameter of `eth_sendTransaction`. */
interface UnsignedCall {
  readonly from?: string;
  readonly to?: string | null;
  readonly data?: string;
  readonly input?: string;
  readonly value?: string;
  readonly gas?: string;
  readonly nonce?: string;
  readonly chainId?: string | number;
}

function notFound(method: string) {
  return async () => {
    throw new MethodNotFoundRpcError(new Error(`${method} is not there without gas`), { method });
  };
}

function withoutBaseFee(block: unknown): unknown {
  const hasFee = typeof block === "object" && block !== null && "baseFeePerGas" in block;
  return hasFee ? { ...block, baseFeePerGas: "0x0" } : block;
}

function withoutPrices(call: unknown): object {
  const { gasPrice: _, maxFeePerGas: __, maxPriorityFeePerGas: ___, type: ____, ...rest } = Object(call);
  return rest;
}
