import { type Chain, type HttpTransport, type HttpTransportConfig, http } from "viem";
import { health } from "../actions/health.js";
import { InvalidArgumentError } from "../errors.js";
import { type Connection, createConnection } from "../http/connection.js";
import { type GaslessProviderOptions, networkOf } from "../provider/network.js";

/** The most calls of one JSON-RPC batch that the gateway takes. */
const BATCH_CALLS = 100;

/** A viem chain whose RPC URL is the gateway's. It holds the service's address and key for the hooks. */
export interface GaslessChain extends Chain {
  readonly custom: { readonly gasWaiver: { readonly url: string; readonly apiKey: string } };
}

/**
 * Defines the chain for wagmi's `createConfig`: a wallet that wagmi asks to switch to it adds the gateway's URL.
 * @throws InvalidArgumentError if the key is not publishable or the address cannot be used.
 * @example
 * ```ts
 * import { gaslessChain, gaslessTransport } from "@gas-waiver/client/wagmi";
 * import { createConfig } from "wagmi";
 *
 * const chain = gaslessChain({ url: "http://127.0.0.1:8080", apiKey: "gwp_dev_local", chainId: 2201 });
 * const config = createConfig({ chains: [chain], transports: { [chain.id]: gaslessTransport() } });
 * ```
 */
export function gaslessChain(options: GaslessProviderOptions): GaslessChain {
  const { chainName, nativeCurrency, rpcUrls } = networkOf(options);
  const [gateway] = rpcUrls;
  return {
    id: options.chainId,
    name: chainName,
    nativeCurrency,
    rpcUrls: { default: { http: [gateway], webSocket: [gateway.replace(/^http/, "ws")] } },
    custom: { gasWaiver: { url: String(options.url), apiKey: options.apiKey } },
  };
}

/**
 * Defines the chain like {@link gaslessChain}, with the chain id that the service tells.
 * @throws InvalidArgumentError if the key is not publishable or the address cannot be used; WaiverClientError if the service
 * cannot be asked.
 * @example
 * ```ts
 * import { readGaslessChain } from "@gas-waiver/client/wagmi";
 *
 * const chain = await readGaslessChain({ url: "http://127.0.0.1:8080", apiKey: "gwp_dev_local" });
 * console.log(chain.id);
 * ```
 */
export async function readGaslessChain(
  options: Omit<GaslessProviderOptions, "chainId">,
): Promise<GaslessChain> {
  const { chainId } = await health(createConnection(options));
  return gaslessChain({ ...options, chainId });
}

/**
 * Makes wagmi's transport for a {@link gaslessChain}: HTTP to the gateway, in batches no larger than the gateway takes.
 * @param config viem's options of `http`.
 * @example
 * ```ts
 * import { gaslessTransport } from "@gas-waiver/client/wagmi";
 *
 * const transport = gaslessTransport({ timeout: 20_000 });
 * ```
 */
export function gaslessTransport({ batch, ...config }: HttpTransportConfig = {}): HttpTransport {
  const sizes = typeof batch === "object" ? batch : {};
  return http(undefined, { ...config, batch: batch !== false && { batchSize: BATCH_CALLS, ...sizes } });
}

/**
 * Picks the chain that a hook is about: that of the id if there is one, else the current chain if it is gasless, else
 * the first one that is.
 * @throws InvalidArgumentError if there is none.
 */
export function pickGaslessChain(
  chains: readonly Chain[],
  chainId: number | undefined,
  currentId?: number,
): GaslessChain {
  const gasless = chains.filter(isGaslessChain);
  const withId = (id: number | undefined) => gasless.find((chain) => chain.id === id);
  const chain = chainId === undefined ? (withId(currentId) ?? gasless[0]) : withId(chainId);
  if (chain !== undefined) return chain;
  const which = chainId === undefined ? "no chain" : `no chain ${chainId}`;
  throw new InvalidArgumentError(`the wagmi config has ${which} made by gaslessChain`);
}

/** Returns a connection to the service of a chain. */
export function connectionTo({ custom }: GaslessChain): Connection {
  return createConnection(custom.gasWaiver);
}

function isGaslessChain(chain: Chain): chain is GaslessChain {
  return chain.custom?.gasWaiver !== undefined;
}
