import { WalletNetworkError } from "../errors.js";
import { createConnection } from "../http/connection.js";
import type { Eip1193Provider } from "./eip1193.js";
import { unwrapGatewayError } from "./gatewayRefusal.js";
import { type GaslessProviderOptions, type Network, networkOf } from "./network.js";
import { createWalletCalls } from "./walletCalls.js";

export type { Eip1193Provider } from "./eip1193.js";
export type { GaslessProviderOptions } from "./network.js";

/** The methods with which a page learns the user's accounts, and so the first for which the network matters. */
const CONNECTS = new Set(["eth_requestAccounts", "wallet_requestPermissions"]);
/** The methods that sign and send; viem tries the second where a wallet refuses the first. */
const SENDS = new Set(["eth_sendTransaction", "wallet_sendTransaction"]);
/** EIP-1193: the provider is not connected to the requested chain. */
const UNKNOWN_CHAIN = 4902;

/**
 * Puts the gateway in front of a wallet (EIP-1193): the wallet signs and sends itself, and its transactions cost the user no
 * gas. When a page connects or sends, the provider asks the wallet to add the gateway's URL as the network, once. It gives
 * transactions price 0, and passes everything else on.
 *
 * `wallet_sendCalls` (EIP-5792) becomes one transaction for each call, in sequence and not atomic. The origins of the key must
 * have the page's own, too: `wallet_getCallsStatus` reads the service's records.
 *
 * A wallet that has the chain under another URL may keep that one. The provider notices by the wallet's gas price, and then
 * refuses to send: there the user would pay.
 * @param wallet the provider of the wallet, such as `window.ethereum`.
 * @returns a provider for ethers' `BrowserProvider`, viem's `custom`, or any other library.
 * @throws InvalidArgumentError if the key is not publishable or the address cannot be used. Requests throw the wallet's errors, and
 * {@link WalletNetworkError}.
 * @example
 * ```ts
 * import { type Eip1193Provider, gaslessProvider } from "@gas-waiver/client";
 *
 * const { ethereum } = window as unknown as { ethereum: Eip1193Provider };
 * const provider = gaslessProvider(ethereum, { url: "http://127.0.0.1:8080", apiKey: "gwp_dev_local", chainId: 2201 });
 * await provider.request({ method: "eth_requestAccounts" });
 * ```
 */
export function gaslessProvider(wallet: Eip1193Provider, options: GaslessProviderOptions): Eip1193Provider {
  const network = networkOf(options);
  let joined: Promise<void> | undefined;
  /** Asks once; again only if the user has refused, or the wallet has left the network since. */
  const join = () => {
    joined ??= joinNetwork(wallet, network).catch((error: unknown) => {
      joined = undefined;
      throw error;
    });
    return joined;
  };
  wallet.on?.("chainChanged", () => {
    joined = undefined;
  });
  const send = async ([call, ...others]: readonly unknown[], method = "eth_sendTransaction") => {
    await join();
    await assertGasless(wallet, network);
    const transaction = { ...withoutPrices(call), gasPrice: "0x0" };
    return await wallet.request({ method, params: [transaction, ...others] }).catch((error: unknown) => {
      throw unwrapGatewayError(error);
    });
  };
  const calls = createWalletCalls({
    wallet,
    chainId: network.chainId,
    send: (transaction) => send([transaction]),
    connection: createConnection(options),
  });
  return {
    async request({ method, params }) {
      const ofCalls = calls.get(method);
      if (ofCalls) return await ofCalls(params);
      if (SENDS.has(method)) return await send(Array.isArray(params) ? params : [], method);
      if (CONNECTS.has(method)) await join();
      return await wallet.request({ method, ...(params && { params }) });
    },
    on: (event, listener) => wallet.on?.(event, listener),
    removeListener: (event, listener) => wallet.removeListener?.(event, listener),
  };
}

/** Wallets that have the chain add the URL to it, or only switch. */
async function joinNetwork(wallet: Eip1193Provider, network: Network): Promise<void> {
  const { chainId } = network;
  const isThere = (await wallet.request({ method: "eth_chainId" })) === chainId;
  if (isThere && (await isGasless(wallet))) return;
  await wallet.request({ method: "wallet_addEthereumChain", params: [network] });
  if ((await wallet.request({ method: "eth_chainId" })) === chainId) return;
  await wallet
    .request({ method: "wallet_switchEthereumChain", params: [{ chainId }] })
    .catch((cause: unknown) => {
      const isUnknown = (cause as { readonly code?: unknown } | null)?.code === UNKNOWN_CHAIN;
      throw isUnknown ? wrongNetwork(network, cause) : cause;
    });
}

/** A wallet may change its chain without an event, to another one on which gas costs nothing. */
async function assertGasless(wallet: Eip1193Provider, network: Network): Promise<void> {
  const isThere = (await wallet.request({ method: "eth_chainId" })) === network.chainId;
  if (!isThere || !(await isGasless(wallet))) throw wrongNetwork(network);
}

/** Only the gateway says that gas costs nothing: nodes of the chain ask for its least price. */
async function isGasless(wallet: Eip1193Provider): Promise<boolean> {
  const price = await wallet.request({ method: "eth_gasPrice" });
  return typeof price === "string" && /^0x0*$/.test(price);
}

function wrongNetwork({ chainName, rpcUrls: [url] }: Network, cause?: unknown): WalletNetworkError {
  const message = `the wallet is on another chain, or reaches this one by an RPC URL where gas costs: in its settings, choose ${url} for the network ${chainName}`;
  return new WalletNetworkError(message, { cause });
}

function withoutPrices(call: unknown): object {
  const { gasPrice: _, maxFeePerGas: __, maxPriorityFeePerGas: ___, type, ...rest } = Object(call);
  // Wallets refuse the type of EIP-1559 beside a gas price.
  return type === undefined || type === "0x2" ? rest : { ...rest, type };
}
