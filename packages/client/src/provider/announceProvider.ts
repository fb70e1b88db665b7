import type { Eip1193Provider } from "./eip1193.js";

/** The provider's entry in the list of wallets that a page shows (EIP-6963). */
export interface ProviderInfo {
  /** A UUID of version 4, new with each page load. `crypto.randomUUID()` by default. */
  readonly uuid?: string;
  /** The name in the list, such as "MetaMask, gasless". */
  readonly name: string;
  /** A square image as a data URI. */
  readonly icon: string;
  /** The domain of the announcer in reverse, such as `com.example.app`. */
  readonly rdns: string;
}

/**
 * Announces a provider to the libraries of the page that list wallets (EIP-6963), now and whenever one asks.
 * @param target the page's window; another one in tests.
 * @returns a function that ends the announcing.
 * @example
 * ```ts
 * import { announceProvider, type Eip1193Provider, gaslessProvider } from "@gas-waiver/client";
 *
 * const { ethereum } = window as unknown as { ethereum: Eip1193Provider };
 * const provider = gaslessProvider(ethereum, { url: "http://127.0.0.1:8080", apiKey: "gwp_dev_local", chainId: 2201 });
 * announceProvider(provider, { name: "Wallet, gasless", icon: "data:image/svg+xml,…", rdns: "com.example.app" });
 * ```
 */
export function announceProvider(
  provider: Eip1193Provider,
  { uuid = crypto.randomUUID(), ...info }: ProviderInfo,
  target: EventTarget = globalThis as unknown as EventTarget,
): () => void {
  const detail = Object.freeze({ info: Object.freeze({ uuid, ...info }), provider });
  const announce = () => target.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  target.addEventListener("eip6963:requestProvider", announce);
  announce();
  return () => target.removeEventListener("eip6963:requestProvider", announce);
}
