import { InvalidArgumentError } from "../errors.js";
import { parseBaseUrl } from "../http/connection.js";

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
  /** The `fetch` with which records are read; the platform's own by default. */
  readonly fetch?: typeof globalThis.fetch;
}

/** The gateway as a network: the parameter of `wallet_addEthereumChain` (EIP-3085). */
export interface Network {
  readonly chainId: `0x${string}`;
  readonly chainName: string;
  readonly rpcUrls: readonly [string];
  readonly nativeCurrency: NonNullable<GaslessProviderOptions["nativeCurrency"]>;
}

/** @throws InvalidArgumentError if the key is not publishable or the address cannot be used. */
export function networkOf({
  url,
  apiKey,
  chainId,
  chainName,
  nativeCurrency,
}: GaslessProviderOptions): Network {
  // The wallet shows the URL and keeps it, so a secret key must not be in it.
  if (!/^gwp_\w+$/.test(apiKey))
    throw new InvalidArgumentError("the API key of a wallet must be publishable: gwp_…");
  return {
    chainId: `0x${chainId.toString(16)}`,
    chainName: chainName ?? "Gasless",
    rpcUrls: [`${parseBaseUrl(url)}/rpc/${apiKey}`],
    nativeCurrency: nativeCurrency ?? { name: "Ether", symbol: "ETH", decimals: 18 },
  };
}
