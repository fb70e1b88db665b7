import { announceProvider, type Eip1193Provider, gaslessProvider } from "@gas-waiver/client";
import { gaslessTransport, readGaslessChain } from "@gas-waiver/client/wagmi";
import { createConfig } from "wagmi";

const { VITE_GAS_WAIVER_URL, VITE_GAS_WAIVER_KEY } = import.meta.env;
/** A publishable key may be in a page. This one is that of `gas-waiver dev`. */
const service = {
  url: VITE_GAS_WAIVER_URL ?? "http://127.0.0.1:8080",
  apiKey: VITE_GAS_WAIVER_KEY ?? "gwp_dev_local",
};

export const chain = await readGaslessChain({ ...service, chainName: "Gasless" });

/** The wallet with the gateway in front is one more in the list of wallets (EIP-6963). wagmi asks for them once, below. */
export const GASLESS_WALLET = "com.example.gasless";
const { ethereum } = window as { readonly ethereum?: Eip1193Provider };
if (ethereum) {
  const provider = gaslessProvider(ethereum, { ...service, chainId: chain.id, chainName: chain.name });
  announceProvider(provider, {
    name: "Your wallet, gasless",
    icon: "data:image/svg+xml,<svg/>",
    rdns: GASLESS_WALLET,
  });
}

export const config = createConfig({ chains: [chain], transports: { [chain.id]: gaslessTransport() } });
