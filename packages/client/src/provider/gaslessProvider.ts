import { WalletNetworkError } from "../errors.js";
import { parseBaseUrl } from "../http/connection.js";
import type { Eip1193Provider } from "./eip1193.js";

export type { Eip1193Provider } from "./eip1193.js";

/** The gateway, and the chain as the wallet shows it. */
export interface GaslessProviderOptions {
  /** The service's base address: `https://relay.example.com`. */
  readonly url: string | URL;
  /** A publishable key (`gwp_…`) whose origins have `wallets`: the wallet calls the gateway, and not the page. */
  readonly apiKey: string;
  /** 988 is mainnet, 2201 testnet and the devnet. */
  readonly chainId: number;
  /** The name of the network in the wallet. "Gasless" by default. */
  readonly chainName?: string;
  /** The native coin as the wallet shows it. 18 decimals and the symbol ETH by default. */
  readonly nativeCurrency?: { readonly name: string; readonly symbol: string; readonly decimals: number };
}

/** The methods with which a page learns the user's accounts, and so the first for which the network matters. */
const CONNECTS = new Set(["eth_requestAccounts", "wallet_requestPermissions"]);
/** EIP-1193: the provider is not connected to the requested chain. */
const UNKNOWN_CHAIN = 4902;

/**
 * Puts the gateway in front of a wallet (EIP-1193): the wallet signs and sends itself, and its transactions cost the user no
 * gas. When a page connects or sends, the provider asks the wallet to add the gateway's URL as the network, once. It gives
 * transactions price 0, and passes everything else on.
 *
 * A wallet that has the chain under another URL may keep that one. The provider notices by the wallet's gas price, and then
 * refuses to send: there the user would pay.
 * @param wallet the provider of the wallet, such as `window.ethereum`.
 * @returns a provider for ethers' `BrowserProvider`, viem's `custom`, or any other library.
 * @throws TypeError if the key is not publishable or the address cannot be used. Requests throw the wallet's errors, and
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
  return {
    async request({ method, params }) {
      if (CONNECTS.has(method)) await join();
      if (method !== "eth_sendTransaction")
        return await wallet.request({ method, ...(params && { params }) });
      await join();
      await assertGasless(wallet, network);
      const [call, ...others] = Array.isArray(params) ? params : [];
      return await wallet.request({
        method,
        params: [{ ...withoutPrices(call), gasPrice: "0x0" }, ...others],
      });
    },
    on: (event, listener) => wallet.on?.(event, listener),
    removeListener: (event, listener) => wallet.removeListener?.(event, listener),
  };
}

/** The parameter of `wallet_addEthereumChain` (EIP-3085). */
interface Network {
  readonly chainId: string;
  readonly chainName: string;
  readonly rpcUrls: readonly [string];
  readonly nativeCurrency: NonNullable<GaslessProviderOptions["nativeCurrency"]>;
}

function networkOf({ url, apiKey, chainId, chainName, nativeCurrency }: GaslessProviderOptions): Network {
  // The wallet shows the URL and keeps it, so a secret key must not be in it.
  if (!/^gwp_\w+$/.test(apiKey)) throw new TypeError("the API key of a wallet must be publishable: gwp_…");
  return {
    chainId: `0x${chainId.toString(16)}`,
    chainName: chainName ?? "Gasless",
    rpcUrls: [`${parseBaseUrl(url)}/rpc/${apiKey}`],
    nativeCurrency: nativeCurrency ?? { name: "Ether", symbol: "ETH", decimals: 18 },
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
