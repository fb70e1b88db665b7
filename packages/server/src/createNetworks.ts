import type { NetworksOptions } from "./model/options/networkOptions.js";
import type { NetworksServer } from "./service.js";

export type { NetworkState, NetworksServer } from "./service.js";

/**
 * Builds a service that relays to several chains in one process. Each network has its nodes, waivers, policy, API keys and a
 * schema of the database; the ports, their limits and the database are shared. A network that cannot start is tried again,
 * and the others run meanwhile.
 * @param signal aborts the start at the next point where that is safe.
 * @throws {@link InvalidOptionsError} with every problem, or {@link StartError} if no network can start.
 * @example
 * ```ts
 * const server = await createNetworks({
 *   databaseUrl: "postgres://gas_waiver@127.0.0.1/gas_waiver",
 *   networks: [
 *     { name: "mainnet", chainId: 988, rpcUrl: mainnetUrl, waivers: [mainnetWaiver], apiKeys: [] },
 *     { name: "testnet", chainId: 2201, rpcUrl: testnetUrl, waivers: [testnetWaiver], apiKeys: [] },
 *   ],
 * });
 * // http://127.0.0.1:8080/mainnet/v1/submit and http://127.0.0.1:8080/testnet/v1/submit
 * await server.listen({ host: "127.0.0.1", port: 8080 });
 * ```
 */
export async function createNetworks(
  given: NetworksOptions,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<NetworksServer> {
  // A command that starts no service would take twice as long with HTTP, the lanes and the metrics.
  const { openService } = await import("./service.js");
  const { server } = await openService(given, signal);
  return server;
}
